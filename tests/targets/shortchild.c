/*
 * Waits, and regularly starts children that work for 20 ms: either just forked,
 * or forked and running this program.
 *
 * 	shortchild SECONDS
 *
 * Prints "ready" at the start. The parent uses hardly any CPU time.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS  20000000
#define PAUSE_MS 250
#define NOINLINE __attribute__((noinline, noclone))

static int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static NOINLINE uint64_t
burn(uint64_t x)
{
	for (int i = 0; i < 50000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static NOINLINE void
work_of_forked_child(void)
{
	volatile uint64_t x = 1;

	for (int64_t end = cpu_ns() + WORK_NS; cpu_ns() < end;)
		x = burn(x);
}

static NOINLINE void
work_of_executed_child(void)
{
	volatile uint64_t x = 2;

	for (int64_t end = cpu_ns() + WORK_NS; cpu_ns() < end;)
		x = burn(x);
}

static void
child(const char *program)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (program)
			execl(program, "shortchild", "--child", (char *)NULL);
		else
			work_of_forked_child();
		_exit(program ? 127 : 0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
	time_t end;

	if (argc > 1 && !strcmp(argv[1], "--child")) {
		work_of_executed_child();
		return 0;
	}
	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	puts("ready");
	fflush(stdout);
	while (time(NULL) < end) {
		poll(NULL, 0, PAUSE_MS);
		child(NULL);
		child("/proc/self/exe");
	}
	return 0;
}
