/*
 * Works in a function that was inlined into another.
 *
 *	inlined SECONDS
 *
 * Prints "ready" at the start.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
	volatile uint64_t x = 1;

	if (puts("ready") < 0 || fflush(stdout))
		return 1;
	while (time(NULL) < end)
		x = outer(x);
	return 0;
}
