/*
 * Allocates with one function, as much and as often as the arguments say.
 *
 * 	allocs FUNCTION BYTES TIMES
 *
 * FUNCTION is looked up as the program's own calls are, so that a preloaded
 * allocator serves it. Exits with 3 if there is no such function.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNED 64 /* bytes; more than malloc() aligns to */

typedef void *one(size_t);
typedef void *two(size_t, size_t);

static void *volatile made;

static void *
call(const char *name, void *function, size_t bytes)
{
	void *p = NULL;

	if (!strcmp(name, "posix_memalign")) {
		int (*f)(void **, size_t, size_t) = function;

		return f(&p, ALIGNED, bytes) ? NULL : p;
	}
	if (!strcmp(name, "realloc")) {
		void *(*f)(void *, size_t) = function;

		return f(malloc(1), bytes);
	}
	if (!strcmp(name, "calloc"))
		return ((two *)function)(1, bytes);
	if (strstr(name, "align"))
		return ((two *)function)(ALIGNED, bytes);
	return ((one *)function)(bytes);
}

int
main(int argc, char **argv)
{
	void *function = argc == 4 ? dlsym(RTLD_DEFAULT, argv[1]) : NULL;
	long times = function ? strtol(argv[3], NULL, 10) : 0;

	if (!function)
		return 3;
	for (long i = 0; i < times; i++) {
		made = call(argv[1], function, strtoul(argv[2], NULL, 10));
		if (!made)
			return 1;
		free(made);
	}
	return 0;
}
