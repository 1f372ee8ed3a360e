/*
 * Prints how many rounds of work it does per second of its CPU time, which
 * other programs on the machine affect little.
 *
 * 	rounds pipe|relay|locks|some-allocs|allocs|many-allocs|spin|deep
 * 		[SECONDS]
 *
 * pipe            two processes on one CPU wake each other through pipes:
 * nothing but
 * 		system calls and context switches
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
 * Prints "ready" at the start and the number at the end.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
cpu_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
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

static long
spin(double end)
{
	long rounds = 0;

	for (; now() < end; rounds++)
		work(10000);
	return rounds;
}

/* Works below so many calls, whose frames have 64 to 192 bytes more than they
 * need: what programs of C++ have on average. */
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

static long
deep(double end)
{
	long rounds = 0;

	for (; now() < end; rounds++)
		descend((int)(25 + rounds % 36));
	return rounds;
}

static long
locks(double end)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	long rounds = 0;

	while (++rounds % 256 || now() < end) {
		pthread_mutex_lock(&lock);
		work(500);
		pthread_mutex_unlock(&lock);
	}
	return rounds;
}

static long
allocs(int pause, double end)
{
	static void *volatile made;
	long rounds = 0;

	while (++rounds % 256 || now() < end) {
		made = malloc(100 + (size_t)(rounds % 16) * 64);
		work(pause);
		free(made);
	}
	return rounds;
}

static void
echo(int in, int out, int pause)
{
	char c;

	while (read(in, &c, 1) == 1 && write(out, &c, 1) == 1)
		work(pause);
}

static long
play(int in, int out, int pause, double end)
{
	long rounds = 0;
	char c = 0;

	while (write(out, &c, 1) == 1 && read(in, &c, 1) == 1) {
		work(pause);
		if (++rounds % 64 == 0 && now() >= end)
			break;
	}
	return rounds;
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

static long
ping_pong(int pause, double end)
{
	int there[2], back[2];
	long rounds;

	if (pin() || pipe(there) || pipe(back))
		return -1;
	if (fork() == 0) {
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1], pause);
		_exit(0);
	}
	ready();
	rounds = play(back[0], there[1], pause, end);
	close(there[1]);
	wait(NULL);
	return rounds;
}

int
main(int argc, char **argv)
{
	double end = now() + (argc > 2 ? atof(argv[2]) : 5);
	long rounds;

	if (argc > 1 && !strcmp(argv[1], "pipe")) {
		rounds = ping_pong(0, end);
	} else if (argc > 1 && !strcmp(argv[1], "relay")) {
		rounds = ping_pong(2000, end);
	} else if (argc > 1 && !strcmp(argv[1], "locks")) {
		ready();
		rounds = locks(end);
	} else if (argc > 1 && strstr(argv[1], "allocs")) {
		ready();
		rounds = allocs(!strcmp(argv[1], "many-allocs")   ? 900
		                : !strcmp(argv[1], "some-allocs") ? 31000
		                                                  : 9000,
		                end);
	} else {
		ready();
		rounds = argc > 1 && !strcmp(argv[1], "deep") ? deep(end)
		                                              : spin(end);
	}
	printf("%.1f\n", (double)rounds / (cpu_of(RUSAGE_SELF) +
	                                   cpu_of(RUSAGE_CHILDREN)));
	return rounds <= 0;
}
