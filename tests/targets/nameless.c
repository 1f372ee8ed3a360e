/*
 * Has its own allocator, with names of functions and a text of jemalloc, for
 * all of its memory except what printf() takes.
 */
#include <stddef.h>
#include <stdio.h>
#include <time.h>

static char room[1 << 20];
static size_t used;

__attribute__((noinline)) void *
je_malloc(size_t n)
{
	if (used + n > sizeof(room)) {
		fprintf(stderr, "<jemalloc>: starts again\n");
		used = 0;
	}
	used += n;
	return room + used - n;
}

__attribute__((noinline)) void
je_free(void *p)
{
	*(volatile char *)p = 0;
}

__attribute__((noinline)) static void
by_own_allocator(void)
{
	je_free(je_malloc(1000));
}

int
main(void)
{
	const struct timespec t = {0, 1000000};

	puts("ready");
	fflush(stdout);
	for (;;) {
		by_own_allocator();
		nanosleep(&t, NULL);
	}
}
