/*
 * Many threads, each of which sleeps in nap() and allocates in get(), ten times
 * a second.
 *
 *	crowd THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *volatile made;

__attribute__((noinline)) static void
nap(void)
{
	const struct timespec t = {0, 100000000};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void
get(void)
{
	void *p = malloc(4096);

	made = p;
	free(p);
}

static void *
live(void *arg)
{
	for (;;) {
		nap();
		get();
	}
	return arg;
}

int
main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		pthread_attr_t small;
		pthread_t t;

		if (pthread_attr_init(&small) ||
		    pthread_attr_setstacksize(&small, 65536) ||
		    pthread_create(&t, &small, live, NULL))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
