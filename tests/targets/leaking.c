/*
 * Keeps memory in some functions, while others release what they allocate:
 * tests/targets/counted.h.
 */
#define FUNCTIONS(x) \
	x(keep_most) x(keep_zeroed) x(keep_grown) x(keep_aligned) x(keep_late)
#include "counted.h"

NOINLINE static void
keep_most(void)
{
	made = malloc(800);
	count(OF_keep_most, 800);
}

NOINLINE static void
keep_zeroed(void)
{
	made = calloc(20, 20);
	count(OF_keep_zeroed, 400);
}

/* The replaced memory was allocated here, too, and is not kept. */
NOINLINE static void
keep_grown(void)
{
	void *p = malloc(900);

	__asm__ volatile("" : "+r"(p));
	p = realloc(p, 300);
	made = p;
	count(OF_keep_grown, 300);
}

NOINLINE static void
keep_aligned(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 300))
		exit(1);
	made = p;
	count(OF_keep_aligned, 300);
}

/* Keeps one of two allocations; another thread releases the other. */
static void *volatile to_release;

NOINLINE static void
keep_late(void)
{
	made = malloc(200);
	count(OF_keep_late, 200);
	if (!to_release)
		to_release = malloc(500);
}

static void *
release(void *arg)
{
	for (;;) {
		void *p = to_release;

		if (p) {
			free(p);
			to_release = NULL;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return arg;
}

NOINLINE static void
throw_away(void)
{
	void *p = malloc(200);

	__asm__ volatile("" : "+r"(p));
	p = realloc(p, 250);
	__asm__ volatile("" : "+r"(p));
	free(p);
}

static void *
work(void *arg)
{
	for (double n = 0;; n += 19) {
		keep_most();
		keep_zeroed();
		keep_grown();
		keep_aligned();
		keep_late();
		for (int i = 0; i < 6; i++)
			throw_away();
		ask_too_much();
		keep_pace(n);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	return serve(argc, argv, work, release);
}
