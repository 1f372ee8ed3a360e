/*
 * Works in a function that was inlined into another.
 *
 *	inlined SECONDS [THREADS [BUSY_PERCENT]]
 *
 * Prints "ready" at the start. The arguments are those of shares, but there is
 * one thread.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline __attribute__((always_inline)) uint64_t
inlined_work(uint64_t x)
{
	for (int i = 0; i < 1000000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static __attribute__((noinline, noclone)) uint64_t
outer(uint64_t x)
{
	return inlined_work(x) + 1;
}

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned busy = argc > 3 ? (unsigned)atoi(argv[3]) : 100;
	volatile uint64_t x = 1;

	if (puts("ready") < 0 || fflush(stdout))
		return 1;
	while (time(NULL) < end) {
		clock_t began = clock();

		x = outer(x);
		if (busy < 100)
			usleep((unsigned)(clock() - began) * (100 - busy) /
			       busy);
	}
	return 0;
}
