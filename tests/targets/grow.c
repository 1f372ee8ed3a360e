/*
 * A program with a growing number of threads.
 *
 * 	grow COUNT
 *
 * COUNT threads wait in leak() for a mutex that nobody unlocks. Each line on
 * stdin adds that many threads. Prints "ready" when all wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK    (256 << 10)

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static long arrived;

NOINLINE void
leak(void)
{
	pthread_mutex_lock(&lock);
	arrived++;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&held);
	abort(); /* main holds it */
}

static void *
begin(void *arg)
{
	leak();
	return arg;
}

static void
start(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, begin, NULL)) {
		perror("grow");
		exit(1);
	}
	pthread_attr_destroy(&attr);
}

int
main(int argc, char **argv)
{
	long want = 0, n = argc > 1 ? strtol(argv[1], NULL, 10) : 10;

	pthread_mutex_lock(&held);
	do {
		for (long i = 0; i < n; i++)
			start();
		want += n;
		pthread_mutex_lock(&lock);
		while (arrived < want)
			pthread_cond_wait(&more, &lock);
		pthread_mutex_unlock(&lock);
		puts("ready");
		fflush(stdout);
	} while (scanf("%ld", &n) == 1);
	return 0;
}
