/*
 * A steady service of ten functions, one of which can be made slower; or one
 * with phases.
 *
 *	slower SECONDS [FUNCTION PERCENT | phases]
 *
 * Functions are half, share_30, share_10 and seven that share the last tenth.
 * Each call picks one by those odds; most take about 0.1 ms, one of 20 four
 * times as long. In phases, of some seconds each, every other call is to one of
 * the eight rarest. Prints "ready" at the start, and at the end how many calls
 * it made per second of CPU time: "work 12345.6".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS    100000
#define LONG_ONE  20 /* one of this many calls takes LONG_SIZE times as long */
#define LONG_SIZE 4
#define NOINLINE  __attribute__((noinline, noclone))
#define CHECK     64 /* calls between two looks at the clock */

/* All functions do the same work, so that probabilities are shares of time. */
#define FUNCTIONS(F)     \
	F(half, 500)     \
	F(share_30, 300) \
	F(share_10, 100) \
	F(a, 10) F(b, 10) F(c, 10) F(d, 10) F(e, 20) F(f, 20) F(g, 20)

#define WORK(name, odds)                                          \
	NOINLINE uint64_t name(uint64_t x, uint64_t rounds)       \
	{                                                         \
		for (uint64_t i = 0; i < rounds; i++)             \
			x = (x ^ (x >> 31)) * (2 * odds + 1) + i; \
		return x;                                         \
	}
FUNCTIONS(WORK)
#undef WORK

static struct {
	const char *name;
	unsigned odds; /* of 1000 */
	uint64_t (*work)(uint64_t, uint64_t);
	unsigned percent; /* of its work */
} functions[] = {
#define ROW(name, odds) {#name, odds, name, 100},
	FUNCTIONS(ROW)
#undef ROW
};
#define N (sizeof(functions) / sizeof(functions[0]))

#define RAREST 2         /* row of the first of the rarest functions */
#define PHASE  4         /* seconds, on average */
static size_t phase = N; /* row of the phase's function; N: no phase */

static uint64_t state;

/* Source: splitmix64, Sebastiano Vigna. */
static uint64_t
draw(void)
{
	uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static NOINLINE uint64_t
call(uint64_t x)
{
	unsigned at = (unsigned)(draw() % 1000);
	uint64_t rounds = ROUNDS / 2 + draw() % ROUNDS;
	size_t i = 0;

	for (; at >= functions[i].odds; i++)
		at -= functions[i].odds;
	if (phase < N && draw() % 2)
		i = phase;
	if (draw() % LONG_ONE == 0)
		rounds *= LONG_SIZE;
	return functions[i].work(x, rounds * functions[i].percent / 100);
}

/* Picks the phase's function, at most once a second. */
static void
turn(void)
{
	static time_t last;

	if (time(NULL) == last)
		return;
	last = time(NULL);
	if (phase == N || draw() % PHASE == 0)
		phase = RAREST + draw() % (N - RAREST);
}

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	bool phases = argc > 2 && !strcmp(argv[2], "phases");
	volatile uint64_t x = 1;
	double calls = 0;

	for (size_t i = 0; i < N && argc > 3; i++)
		if (!strcmp(functions[i].name, argv[2]))
			functions[i].percent += (unsigned)atoi(argv[3]);
	state = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)&end;
	puts("ready");
	fflush(stdout);
	for (; time(NULL) < end; calls += CHECK) {
		if (phases)
			turn();
		for (int i = 0; i < CHECK; i++)
			x = call(x);
	}
	printf("work %.1f\n", calls * CLOCKS_PER_SEC / (double)clock());
	return 0;
}
