/*
 * Many threads. Each sleeps in nap(), waits for a lock in take() and for a byte
 * in hear() about eight times a second, and allocates in get() about once a
 * second, where it releases the previous allocation.
 *
 * 	crowd THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BYTES 32768

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2]; /* of a pipe */
static int nthreads;

static void
rest(long ms)
{
	const struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

/* Sleeps for 100 ms on average. Naps of equal length could end in step with
 * keep(), and never while the lock is held. */
__attribute__((noinline)) static void
nap(unsigned i)
{
	rest(93 + i % 15);
	__asm__ volatile("");
}

__attribute__((noinline)) static void
take(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void
hear(void)
{
	char c;

	if (read(ends[0], &c, 1) != 1)
		abort();
	__asm__ volatile("");
}

__attribute__((noinline)) static void
get(void *volatile *held)
{
	free(*held);
	*held = malloc(BYTES);
}

static void *
live(void *arg)
{
	void *volatile held = NULL;

	for (unsigned i = 0;; i++) {
		nap(i);
		take();
		hear();
		if (i % 8 == 0)
			get(&held);
	}
	return arg;
}

/* Holds the lock for a third of the time, and writes a byte for each thread
 * eight times a second. */
static void *
keep(void *arg)
{
	char some[4096] = {0};
	int due = 0;

	for (;;) {
		pthread_mutex_lock(&lock);
		rest(5);
		pthread_mutex_unlock(&lock);
		rest(10);
		due += nthreads;
		if (write(ends[1], some, (size_t)(due / 8)) < 0)
			abort();
		due %= 8;
	}
	return arg;
}

int
main(int argc, char **argv)
{
	nthreads = argc > 1 ? atoi(argv[1]) : 1;
	if (pipe(ends))
		return 1;
	for (int i = nthreads; i >= 0; i--) {
		pthread_attr_t small;
		pthread_t t;

		if (pthread_attr_init(&small) ||
		    pthread_attr_setstacksize(&small, 65536) ||
		    pthread_create(&t, &small, i ? live : keep, NULL))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
