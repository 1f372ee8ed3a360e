/*
 * Asks for the time, which the vdso answers, and for its parent, which the
 * kernel answers.
 *
 * 	clock SECONDS	prints "ready" first
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

static NOINLINE time_t
ask_time(void)
{
	struct timespec now = {0};

	for (int i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += now.tv_nsec;
	}
	return now.tv_sec;
}

static NOINLINE void
ask_kernel(void)
{
	for (int i = 0; i < 200; i++)
		sink += syscall(SYS_getppid);
}

int
main(int argc, char **argv)
{
	time_t end = ask_time() + (argc > 1 ? atoi(argv[1]) : 1);

	puts("ready");
	fflush(stdout);
	while (ask_time() < end)
		ask_kernel();
	return 0;
}
