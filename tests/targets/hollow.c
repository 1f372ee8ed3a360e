/*
 * Works below functions with arrays on the stack that are never written, so
 * that pages between their frames are missing.
 *
 *	hollow SECONDS	prints "ready" first
 *
 * The start function of a thread calls hollow_outer, which calls hollow_inner,
 * which works and calls a leaf.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROOM     (6 << 10) /* both are smaller than the copy of a stack */

static volatile uint64_t sink;
static double end;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Passing the address keeps the array, since the compiler must assume a
 * write. */
static NOINLINE void
leaf(volatile char *room)
{
	uint64_t x = sink;

	for (int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	if (!x)
		*room = 1;
	sink = x;
}

static NOINLINE void
hollow_inner(volatile char *outer)
{
	char room[ROOM];

	while (now() < end)
		leaf(sink ? room : outer);
	sink++; /* so that this is not a tail call */
}

static NOINLINE void
hollow_outer(void)
{
	char room[ROOM];

	hollow_inner(room);
	sink++;
}

static void *
hollow_start(void *unused)
{
	hollow_outer();
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	end = now() + (argc > 1 ? atof(argv[1]) : 5);
	puts("ready");
	fflush(stdout);
	return pthread_create(&thread, NULL, hollow_start, NULL) ||
	       pthread_join(thread, NULL);
}
