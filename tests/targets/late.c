/*
 * Measures how long a process that wakes on a CPU waits for it. At SIGTERM it
 * prints the longest wait in ms.
 *
 * 	late CPU	prints "ready" first
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NAP_NS 5000000

static volatile sig_atomic_t over;

static void
stop(int sig)
{
	over = sig;
}

static long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

int
main(int argc, char **argv)
{
	struct timespec nap = {0, NAP_NS};
	long worst = 0, start, late;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	signal(SIGTERM, stop);
	puts("ready");
	fflush(stdout);
	while (!over) {
		start = now_us();
		nanosleep(&nap, NULL);
		late = now_us() - start - NAP_NS / 1000;
		worst = late > worst ? late : worst;
	}
	printf("%ld\n", worst / 1000);
	return 0;
}
