/*
 * Spends half, three and two tenths of its CPU time in three functions, in
 * several threads, and prints the true shares.
 *
 *	shares SECONDS [THREADS [BUSY_PERCENT]]
 *
 * A thread measures its own CPU time and always works where it is furthest
 * behind, so the shares hold whatever else the machine does. Time in which a
 * hypervisor takes the CPU away is charged to the thread, too, though a sampler
 * sees it once at most: such a spell of work counts for nothing. Spells vary in
 * length at random: shares that came round in step with the sampler would be
 * seen wrong by any profiler. Prints "ready" at the start, then, at the end,
 * "NAME SHARE" lines in percent.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_THREADS 16
/* One spell of work takes 0.05 to 0.3 ms. */
#define MIN_ROUNDS 50000
#define MORE       250000
#define TAKEN_S    3e-3 /* a longer one was interrupted from outside */
#define NOINLINE   __attribute__((noinline, noclone))

static const double wanted[] = {0.5, 0.3, 0.2};
static double seconds, busy = 1;

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE uint64_t
share_half(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

NOINLINE uint64_t
share_three_tenths(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

NOINLINE uint64_t
share_two_tenths(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u + (uint64_t)i;
	return x;
}

static uint64_t (*const work[])(uint64_t, int) = {
	share_half, share_three_tenths, share_two_tenths};

static int
furthest_behind(const double spent[3])
{
	int worst = 0;

	for (int i = 1; i < 3; i++)
		if (spent[i] / wanted[i] < spent[worst] / wanted[worst])
			worst = i;
	return worst;
}

/* Sleeps so long that a thread that worked for some seconds is as busy as
 * asked. */
static void
rest(double worked)
{
	double left = worked * (1 / busy - 1);
	time_t whole = (time_t)left;
	struct timespec t = {whole, (long)((left - (double)whole) * 1e9)};

	if (left > 0)
		nanosleep(&t, NULL);
}

static NOINLINE void *
spin(void *arg)
{
	double *spent = arg, end = now(CLOCK_MONOTONIC) + seconds;
	double before = now(CLOCK_THREAD_CPUTIME_ID), after;
	volatile uint64_t x = (uintptr_t)arg;
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (now(CLOCK_MONOTONIC) < end) {
		int which = furthest_behind(spent);

		x = work[which](x, MIN_ROUNDS + (int)(rand_r(&seed) % MORE));
		after = now(CLOCK_THREAD_CPUTIME_ID);
		if (after - before < TAKEN_S)
			spent[which] += after - before;
		rest(after - before);
		before = after;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	static double spent[MAX_THREADS][3];
	pthread_t threads[MAX_THREADS];
	double sum[3] = {0}, all = 0;
	int n = argc > 2 ? atoi(argv[2]) : 3;

	seconds = argc > 1 ? atof(argv[1]) : 5;
	if (argc > 3)
		busy = atof(argv[3]) / 100;
	if (n < 1 || n > MAX_THREADS || seconds <= 0 || busy <= 0 || busy > 1)
		return 2;
	puts("ready");
	fflush(stdout);
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, spin, spent[i]))
			return 1;
	spin(spent[0]);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			sum[k] += spent[i][k], all += spent[i][k];
	printf("share_half %.2f\nshare_three_tenths %.2f\n"
	       "share_two_tenths %.2f\n",
	       100 * sum[0] / all, 100 * sum[1] / all, 100 * sum[2] / all);
	return 0;
}
