/*
 * Works in a library, of which another version takes the place every 300 ms.
 * This file is the library, too, if VERSION is defined:
 *
 * 	gcc -shared -fPIC -DVERSION=1 -o 1 upgrades.c, and 2 likewise
 * 	upgrades	loads them from this folder
 */
#define NOINLINE      __attribute__((noinline))
#define JOIN(a, b)    a##b
#define NAME(version) JOIN(in_version_, version)

#ifdef VERSION

static volatile unsigned long done;

#if VERSION > 1
NOINLINE void
added(void)
{
	done += done * 3 + 1;
}
#endif

NOINLINE void
NAME(VERSION)(void)
{
	for (int i = 0; i < 100000; i++)
		done++;
}

void
work(void)
{
	NAME(VERSION)();
	done++;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int
put(int version)
{
	char line[64];

	snprintf(line, sizeof(line), "cp %d new && mv new plugin.so", version);
	return system(line);
}

static int
work_in(int version)
{
	struct timespec start, now;
	void *library = put(version) ? NULL : dlopen("./plugin.so", RTLD_NOW);
	void (*work)(void) = library ? (__typeof__(work))dlsym(library, "work")
	                             : NULL;

	if (!work)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		work();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 +
	                 (now.tv_nsec - start.tv_nsec) / 1000000 <
	         300);
	return dlclose(library);
}

int
main(void)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++)
		if (work_in(1 + i % 2))
			return 1;
}
#endif
