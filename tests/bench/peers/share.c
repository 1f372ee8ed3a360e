/*
 * Works until it is killed, and prints 50 times a second how many rounds it has
 * done and how much CPU time they took. 60, 30 and 10 percent
 * of each round are done by the functions of these names.
 *
 *	share work|allocate|wait
 *
 * work      arithmetic
 * allocate  bytes that are allocated, and freed at once
 * wait      time asleep
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t
work(int times)
{
	static volatile uint64_t sink = 1;
	uint64_t x = sink;

	for (int i = 0; i < times * 2000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return sink = x;
}

static uint64_t
allocate(int times)
{
	static void *volatile made;

	for (int i = 0; i < times; i++) {
		made = malloc(200);
		free(made);
		work(4);
	}
	return 0;
}

static uint64_t
wait(int times)
{
	const struct timespec t = {0, times * 100000};

	work(100);
	return (uint64_t)nanosleep(&t, NULL);
}

static uint64_t (*each)(int);

NOINLINE uint64_t
share_60(void)
{
	return each(60) + 1;
}

NOINLINE uint64_t
share_30(void)
{
	return each(30) + 1;
}

NOINLINE uint64_t
share_10(void)
{
	return each(10) + 1;
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "work";
	double printed = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	each = !strcmp(kind, "allocate") ? allocate
	       : !strcmp(kind, "wait")   ? wait
	                                 : work;
	for (long rounds = 1;; rounds++) {
		share_60(), share_30(), share_10();
		if (now() - printed < 0.02)
			continue;
		printed = now();
		printf("%ld %.6f\n", rounds, (double)clock() / CLOCKS_PER_SEC);
		fflush(stdout);
	}
}
