/*
 * Works until its parent ends, and prints on SIGUSR1 how many rounds of work it
 * has done since the last one per second of its CPU time, which other programs
 * on the machine affect little.
 *
 * 	rounds pipe|relay|locks|some-allocs|allocs|many-allocs|spin|deep
 *
 * pipe            two processes on one CPU wake each other through pipes:
 * 		nothing but system calls and context switches
 * relay   the same with some work between, so that there are about
 * 		200 000 context switches a second
 * locks   a lock that nobody else wants, a million times a second, with
 * 		some work
 * allocs  memory is allocated and freed, 100 000 times a second, with
 * 		some work
 * some-allocs     30 000 times
 * many-allocs     a million times
 * spin    nothing but arithmetic
 * deep    the same, below 25 to 60 calls
 *
 * Prints "ready" at the start.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static clockid_t partner; /* clock of the process at the other end; 0 */
static volatile sig_atomic_t asked;

static double
clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
ask(int signal)
{
	asked = signal;
}

/* Answers SIGUSR1, if it came. */
static void
tell(long rounds)
{
	static long before;
	static double cpu_before;
	double cpu;

	if (!asked)
		return;
	asked = 0;
	cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) +
	      (partner ? clock_s(partner) : 0);
	printf("%.1f\n", (double)(rounds - before) / (cpu - cpu_before));
	fflush(stdout);
	before = rounds;
	cpu_before = cpu;
}

static void
work(int times)
{
	static volatile uint64_t sink = 1;
	uint64_t x = sink;

	for (int i = 0; i < times; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

static void
spin(void)
{
	for (long rounds = 0;; tell(++rounds))
		work(10000);
}

/* Works below this many calls, whose frames have 64 to 192 bytes more than they
 * need, as C++ programs have on average. */
static __attribute__((noinline, noclone)) void
descend(int calls)
{
	volatile char frame[64 + calls % 3 * 64];

	frame[0] = (char)calls;
	if (calls)
		descend(calls - 1);
	else
		work(10000);
	frame[0]++;
}

static void
deep(void)
{
	for (long rounds = 0;; tell(++rounds))
		descend((int)(25 + rounds % 36));
}

static void
locks(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	for (long rounds = 0;; tell(++rounds)) {
		pthread_mutex_lock(&lock);
		work(500);
		pthread_mutex_unlock(&lock);
	}
}

static void
allocs(int pause)
{
	static void *volatile made;

	for (long rounds = 0;; tell(++rounds)) {
		made = malloc(100 + (size_t)(rounds % 16) * 64);
		work(pause);
		free(made);
	}
}

static void
echo(int in, int out, int pause)
{
	char c;

	while (read(in, &c, 1) == 1 && write(out, &c, 1) == 1)
		work(pause);
}

static void
play(int in, int out, int pause)
{
	char c = 0;

	for (long rounds = 0; write(out, &c, 1) == 1 && read(in, &c, 1) == 1;
	     tell(++rounds))
		work(pause);
}

static int
pin(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static void
ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void
ping_pong(int pause)
{
	int there[2], back[2];
	pid_t other;

	if (pin() || pipe(there) || pipe(back))
		return;
	other = fork();
	if (other == 0) {
		signal(SIGUSR1, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1], pause);
		_exit(0);
	}
	clock_getcpuclockid(other, &partner);
	ready();
	play(back[0], there[1], pause);
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "spin";
	const struct sigaction on_ask = {.sa_handler = ask,
	                                 .sa_flags = SA_RESTART};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &on_ask, NULL);
	if (!strcmp(kind, "pipe") || !strcmp(kind, "relay")) {
		ping_pong(!strcmp(kind, "pipe") ? 0 : 2000);
		return 1;
	}
	ready();
	if (!strcmp(kind, "locks"))
		locks();
	else if (strstr(kind, "allocs"))
		allocs(!strcmp(kind, "many-allocs")   ? 900
		       : !strcmp(kind, "some-allocs") ? 31000
		                                      : 9000);
	else if (!strcmp(kind, "deep"))
		deep();
	else
		spin();
}
