/*
 * Allocates in bursts, and sleeps between them. Prints "ready" at the start.
 *
 *	bursts [ALLOCATIONS [SLEEP_MS]]
 *
 * Of each burst's allocations, which are all alike, 12 % are made by the
 * function first, then 58 % of second, and 30 % of third.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE     100

static void *volatile kept;

#define FUNCTION(name)                        \
	NOINLINE void name(int n)             \
	{                                     \
		for (int i = 0; i < n; i++) { \
			kept = malloc(SIZE);  \
			free(kept);           \
		}                             \
	}
FUNCTION(first)
FUNCTION(second)
FUNCTION(third)

int
main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 600;
	long ms = argc > 2 ? atol(argv[2]) : 90;
	const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	puts("ready");
	fflush(stdout);
	for (;;) {
		first(n * 12 / 100);
		second(n * 58 / 100);
		third(n * 30 / 100);
		nanosleep(&pause, NULL);
	}
}
