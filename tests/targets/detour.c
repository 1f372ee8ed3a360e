/*
 * Works on stacks that consist of more than calls.
 *
 * 	detour signal SECONDS	in a handler, which interrupted detour_waits
 * 	detour altstack SECONDS	the same on a stack of the handler's own
 * 	detour idle SECONDS	there, but it waits
 * 	detour context SECONDS	on a stack that makecontext(3) began
 *
 * Prints "ready" before the work, which is done in detour_work, by way of
 * detour_way.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK    (256 << 10)

static volatile uint64_t sink;
static volatile sig_atomic_t done;
static double seconds;
static bool idle;
static ucontext_t back, there;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static NOINLINE void
detour_work(double end)
{
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			sink = sink * 6364136223846793005u + 1;
}

/* stdio is unsafe in a handler, but this one interrupts a loop without it. */
static NOINLINE void
detour_way(void)
{
	puts("ready");
	fflush(stdout);
	if (idle)
		usleep((useconds_t)(seconds * 1e6));
	else
		detour_work(now() + seconds);
	done = 1;
}

static void
detour_handler(int sig)
{
	detour_way();
	sink += (uint64_t)sig;
}

/* Must be interrupted in its loop, not in a call, where a table would help. */
static NOINLINE void
detour_waits(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 1000}};

	if (setitimer(ITIMER_REAL, &soon, NULL))
		abort();
	while (!done)
		;
	sink++;
}

static int
interrupt(bool own_stack)
{
	struct sigaction a = {.sa_handler = detour_handler};
	stack_t stack = {.ss_size = STACK};

	if (own_stack) {
		a.sa_flags = SA_ONSTACK;
		stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
			return 1;
	}
	if (sigaction(SIGALRM, &a, NULL))
		return 1;
	detour_waits();
	return 0;
}

static void
detour_context(void)
{
	detour_way();
	sink++;
}

static int
switch_stacks(void)
{
	if (getcontext(&there))
		return 1;
	there.uc_link = &back;
	there.uc_stack.ss_size = STACK;
	there.uc_stack.ss_sp = malloc(STACK);
	if (!there.uc_stack.ss_sp)
		return 1;
	makecontext(&there, detour_context, 0);
	return swapcontext(&back, &there);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	seconds = argc > 2 ? atof(argv[2]) : 5;
	idle = !strcmp(mode, "idle");
	if (!strcmp(mode, "context"))
		return switch_stacks();
	return interrupt(strcmp(mode, "signal") != 0);
}
