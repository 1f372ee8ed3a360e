/*
 * Its first thread ends after a second; it uses the CPU before and after.
 *
 * 	headless exit	it ends, and another thread goes on
 * 	headless exec	another thread executes this program again
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *self;
static volatile unsigned long done;

__attribute__((noinline)) static void
before(void)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 10000; i++)
			done++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 <
	         start.tv_sec * 1000 + start.tv_nsec / 1000000 + 1000);
}

__attribute__((noinline)) static void
after(void)
{
	for (;;)
		done++;
}

static void *
work(void *mode)
{
	char *words[] = {self, "after", NULL};

	before();
	if (!strcmp(mode, "exec"))
		execv(self, words);
	after();
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t t;

	self = argv[0];
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "after"))
		after();
	if (pthread_create(&t, NULL, work, argv[1]))
		return 1;
	puts("ready");
	fflush(stdout);
	if (!strcmp(argv[1], "exec"))
		pause();
	sleep(1);
	pthread_exit(NULL);
}
