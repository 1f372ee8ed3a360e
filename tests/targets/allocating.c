/*
 * Allocates in functions, counts their allocations, and releases at once:
 * tests/targets/counted.h.
 */
#define FUNCTIONS(x) \
	x(get_small) x(get_large) x(get_zeroed) x(get_aligned) x(grow) x(begin)
#include "counted.h"

NOINLINE static void
get_small(void)
{
	count(OF_get_small, 200);
	made = malloc(200);
	free(made);
}

NOINLINE static void
get_large(void)
{
	count(OF_get_large, 3000);
	made = malloc(3000);
	free(made);
}

NOINLINE static void
get_zeroed(void)
{
	count(OF_get_zeroed, 1000);
	made = calloc(20, 50);
	free(made);
}

NOINLINE static void
get_aligned(void)
{
	void *p = NULL;

	count(OF_get_aligned, 700);
	if (posix_memalign(&p, 64, 700))
		exit(1);
	made = p;
	free(made);
}

/* Grows what another function allocated, so only the growth counts here. */
NOINLINE static void *
grow(void *p)
{
	count(OF_grow, 1500);
	p = realloc(p, 1500);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE static void *
begin(void)
{
	void *p;

	count(OF_begin, 900);
	p = realloc(NULL, 900);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *
work(void *arg)
{
	for (double n = 0;; n += 9) {
		for (int i = 0; i < 4; i++)
			get_small();
		get_large();
		get_zeroed();
		get_aligned();
		made = begin();
		made = grow(made);
		free(made);
		ask_too_much();
		keep_pace(n);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	return serve(argc, argv, work, NULL);
}
