/*
 * Keeps memory in several functions; another thread frees some of it. Writes to
 * FILE what each function keeps: lines "FUNCTION OBJECTS BYTES". With "fork" a
 * child keeps as much again, and only the child goes on.
 *
 * 	keeping FILE [fork]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EACH 8000 /* objects that a function makes */

static struct kept {
	const char *by;
	void *volatile p[EACH];
	size_t size;
	unsigned freed;
} most = {.by = "keep_most", .size = 50000},
  zeroed = {.by = "keep_zeroed", .size = 15000},
  grown = {.by = "keep_grown", .size = 10000},
  passed = {.by = "keep_passed", .size = 40000};

__attribute__((noinline)) static void
keep_most(int i)
{
	most.p[i] = malloc(most.size);
}

__attribute__((noinline)) static void
keep_zeroed(int i)
{
	zeroed.p[i] = calloc(5, zeroed.size / 5);
}

__attribute__((noinline)) static void
keep_grown(int i)
{
	void *p = malloc(400);

	grown.p[i] = realloc(p, grown.size);
}

__attribute__((noinline)) static void
keep_passed(int i)
{
	void *p;

	if (posix_memalign(&p, 64, passed.size))
		exit(1);
	passed.p[i] = p;
}

__attribute__((noinline)) static void
throw_away(void)
{
	void *volatile p = malloc(100000);

	free(p);
}

static void *
keep_all(void *arg)
{
	for (int i = 0; i < EACH; i++) {
		keep_most(i);
		keep_zeroed(i);
		keep_grown(i);
		keep_passed(i);
		throw_away();
	}
	return arg;
}

/* Frees three of four objects of the other thread. */
static void
let_go(struct kept *of)
{
	for (int i = 0; i < EACH; i++) {
		if (i % 4 == 0)
			continue;
		free(of->p[i]);
		of->freed++;
	}
}

static void
tell(const char *path, unsigned times)
{
	const struct kept *const all[] = {&most, &zeroed, &grown, &passed};
	FILE *out = fopen(path, "w");

	if (!out)
		exit(1);
	for (int i = 0; i < 4; i++) {
		unsigned long n = EACH - all[i]->freed;

		/* A child also has what its parent allocated before. */
		n += (times - 1) * n;
		fprintf(out, "%s %lu %lu\n", all[i]->by, n, n * all[i]->size);
	}
	if (fclose(out))
		exit(1);
}

static void
round_of(void)
{
	pthread_t t;

	passed.freed = 0;
	if (pthread_create(&t, NULL, keep_all, NULL) || pthread_join(t, NULL))
		exit(1);
	let_go(&passed);
}

int
main(int argc, char **argv)
{
	int forks = argc > 2 && !strcmp(argv[2], "fork");

	if (argc < 2)
		return 1;
	round_of();
	if (forks && fork())
		_exit(0);
	if (forks)
		round_of();
	tell(argv[1], forks ? 2 : 1);
	printf("%d\n", getpid());
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
