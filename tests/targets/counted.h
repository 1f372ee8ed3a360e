/*
 * Targets that include this allocate in functions at a given rate, and count
 * what each function did. They first define the functions' names:
 *
 * 	#define FUNCTIONS(x) x(get_small) x(get_large)
 *
 * 	TARGET FILE RATE	allocations a second
 *
 * At SIGUSR1 the target writes to FILE what each function did since the last
 * signal, as lines "FUNCTION TIMES BYTES".
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

enum {
#define NUMBER(name) OF_##name,
	FUNCTIONS(NUMBER) ALL
};
static const char *const names[] = {
#define NAME(name) #name,
	FUNCTIONS(NAME)};
static volatile unsigned long times[ALL], bytes[ALL];
static void *volatile made;

static void
count(int of, unsigned long n)
{
	times[of]++;
	bytes[of] += n;
}

/* Sometimes asks for more memory than any machine has. Such a call fails and
 * must not be counted. */
NOINLINE static void
ask_too_much(void)
{
	static unsigned round;
	volatile size_t n = (size_t)1 << 60;

	if (round++ % 64)
		return;
	made = malloc(n);
	made = calloc(n, 16); /* overflows to 0 */
}

static double rate;

/* Waits until n allocations are due, as a server waits between requests. */
static void
keep_pace(double n)
{
	static double start;
	struct timespec t;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		double now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;

		if (!start)
			start = now;
		if (n <= (now - start) * rate)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
}

static void
tell(const char *path)
{
	static unsigned long told[ALL][2];
	char part[4096];
	FILE *out;

	snprintf(part, sizeof(part), "%s.part", path);
	out = fopen(part, "w");
	if (!out)
		exit(1);
	for (int i = 0; i < ALL; i++) {
		unsigned long n = times[i], b = bytes[i];

		fprintf(out, "%s %lu %lu\n", names[i], n - told[i][0],
		        b - told[i][1]);
		told[i][0] = n;
		told[i][1] = b;
	}
	if (fclose(out) || rename(part, path))
		exit(1);
}

/* Runs one or two threads, and writes the counts on demand. */
static int
serve(int argc, char **argv, void *(*work)(void *), void *(*other)(void *))
{
	sigset_t told;
	pthread_t t;
	int signal;

	rate = argc > 2 ? atof(argv[2]) : 10000;
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &told, NULL);
	if (argc < 2 || pthread_create(&t, NULL, work, NULL) ||
	    (other && pthread_create(&t, NULL, other, NULL)))
		return 1;
	puts("ready");
	fflush(stdout);
	while (!sigwait(&told, &signal))
		tell(argv[1]);
	return 1;
}
