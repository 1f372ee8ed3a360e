/*
 * Works at the end of a call chain whose stack has a given size.
 *
 * 	recurse SECONDS KIB
 *
 * main calls outermost, which calls down recursively until that much stack is
 * used. The innermost call then works; it never returns, but calls a leaf.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define FRAME    1024

static volatile uint64_t sink;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE uint64_t
leaf(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

NOINLINE int
down(int calls, double end)
{
	char room[FRAME];

	memset(room, calls, sizeof(room));
	while (!calls && now() < end)
		sink = leaf(sink);
	if (calls)
		sink += (uint64_t)down(calls - 1, end);
	return room[sink % FRAME];
}

NOINLINE int
outermost(int calls, double end)
{
	return down(calls, end) + 1;
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	int kib = argc > 2 ? atoi(argv[2]) : 100;

	if (seconds <= 0 || kib < 1 || kib > 4096)
		return 2;
	puts("ready");
	fflush(stdout);
	return outermost(kib, now() + seconds) == INT32_MIN;
}
