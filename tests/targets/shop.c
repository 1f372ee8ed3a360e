/*
 * A service with one thing to find for each question that people ask of
 * profiles.
 *
 *	shop [SECONDS]
 *
 * Two threads called order take orders: render() costs most of each, and
 * discount_lookup() costs three times as much once SECONDS have passed. They
 * wait for cache_lock, which a thread called refill holds for most of the time
 * in refill_cache(). A thread called nightly-report uses half a second of CPU
 * time after every 400 orders. Prints "ready", and "changed MILLISECONDS"
 * (since 1970) when discount_lookup() has become slower.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROUNDS   60000 /* of work in a hundredth of an order */
#define SLOWER   3     /* times as much */
#define ORDERS   400   /* per report */

/* Hundredths of an order. */
#define FUNCTIONS(F)       \
	F(parse_order, 25) \
	F(discount_lookup, 12) F(price, 15) F(render, 48)

#define WORK(name, share)                                             \
	static NOINLINE uint64_t name(uint64_t x, unsigned times)     \
	{                                                             \
		for (uint64_t i = 0; i < times * share * ROUNDS; i++) \
			x = (x ^ (x >> 31)) * (2 * share + 1) + i;    \
		return x;                                             \
	}
FUNCTIONS(WORK)
#undef WORK

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned lookups = 1;
static atomic_uint orders;
static volatile uint64_t sink;

static void
rest(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static NOINLINE void
read_cache(void)
{
	pthread_mutex_lock(&cache_lock);
	sink += 1;
	pthread_mutex_unlock(&cache_lock);
}

static NOINLINE void
handle_order(void)
{
	uint64_t x = parse_order(sink, 1);

	x = discount_lookup(x, lookups);
	sink += render(price(x, 1), 1);
	atomic_fetch_add(&orders, 1);
	read_cache();
}

static void *
take_orders(void *unused)
{
	for (;; rest(30))
		handle_order();
	return unused;
}

static NOINLINE void
refill_cache(void)
{
	pthread_mutex_lock(&cache_lock);
	rest(40);
	pthread_mutex_unlock(&cache_lock);
}

static void *
refill(void *unused)
{
	for (;; rest(20))
		refill_cache();
	return unused;
}

static int64_t
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static NOINLINE uint64_t
nightly_report(uint64_t x)
{
	int64_t end = cpu_ms() + 500;

	while (cpu_ms() < end)
		for (unsigned i = 0; i < ROUNDS; i++)
			x = (x ^ (x >> 29)) * 7 + i;
	return x;
}

static void *
report(void *unused)
{
	for (unsigned next = ORDERS;; rest(100)) {
		if (atomic_load(&orders) < next)
			continue;
		sink += nightly_report(sink);
		next += ORDERS;
	}
	return unused;
}

static void
begin(void *(*body)(void *), const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL))
		exit(1);
	pthread_setname_np(thread, name);
}

int
main(int argc, char **argv)
{
	struct timespec now;

	begin(take_orders, "order");
	begin(take_orders, "order");
	begin(refill, "refill");
	begin(report, "nightly-report");
	puts("ready");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 3600);
	lookups = SLOWER;
	clock_gettime(CLOCK_REALTIME, &now);
	printf("changed %jd\n",
	       (intmax_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	fflush(stdout);
	for (;;)
		pause();
}
