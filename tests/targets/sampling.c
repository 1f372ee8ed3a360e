/*
 * Allocates in functions that it counts (tests/targets/counted.h), and samples
 * its allocations itself: one at random within each interval of bytes. It
 * reports samples at static probes, if somebody listens:
 * capture/probes/memory_sampler.h.
 */
#define FUNCTIONS(x) x(keep_most) x(keep_some)
#include "counted.h"

#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <sys/sdt.h>

#define EVERY 16384
#define HELD  65536

__extension__ volatile unsigned short otel_memory_alloc_semaphore
	__attribute__((section(".probes")));
volatile unsigned short otel_memory_free_semaphore
	__attribute__((section(".probes")));

static uintptr_t sampled[HELD];

/* Calls that come in step with the interval must not always be samples. */
static long
next(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (long)(x % (2 * EVERY));
}

NOINLINE static void *
obtain(size_t n)
{
	static long left = EVERY;
	void *p = malloc(n);
	long weight = 0;

	for (left -= (long)n; left < 0; left += next())
		weight += EVERY;
	if (!p || !weight || !otel_memory_alloc_semaphore)
		return p;
	sampled[(uintptr_t)p / 16 % HELD] = (uintptr_t)p;
	STAP_PROBE3(otel_memory, alloc, p, n, weight);
	return p;
}

NOINLINE static void
release(void *p)
{
	uintptr_t *at = &sampled[(uintptr_t)p / 16 % HELD];

	if (*at == (uintptr_t)p && otel_memory_free_semaphore) {
		STAP_PROBE1(otel_memory, free, p);
		*at = 0;
	}
	free(p);
}

NOINLINE static void
keep_most(void)
{
	made = obtain(600);
	count(OF_keep_most, 600);
}

NOINLINE static void
keep_some(void)
{
	made = obtain(200);
	count(OF_keep_some, 200);
}

NOINLINE static void
throw_away(void)
{
	made = obtain(1200);
	release(made);
}

static void *
work(void *arg)
{
	for (double n = 0;; n += 3) {
		keep_most();
		keep_some();
		throw_away();
		keep_pace(n);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	return serve(argc, argv, work, NULL);
}
