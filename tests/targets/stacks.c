/*
 * Works on 100 000 different call stacks in turn.
 *
 * 	stacks SECONDS [THREADS [DIGITS]]
 *
 * Ten functions call each other, five deep or DIGITS deep; the digits of a
 * number select them. All numbers occur before one repeats, and successive
 * numbers are far apart. It prints nothing after "ready".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STRIDE   61803u /* shares no divisor with a power of ten */
#define ROUNDS   4000   /* some 10 us */

static volatile uint32_t sink;
static unsigned depth = 5;
static uint32_t stacks = 1;
static time_t end;

static NOINLINE uint32_t
work(uint32_t x)
{
	for (int i = 0; i < ROUNDS; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

typedef uint32_t digit(unsigned left, uint32_t number);
static digit d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
static digit *const digits[] = {d0, d1, d2, d3, d4, d5, d6, d7, d8, d9};

/* The addition keeps the call from becoming a tail call. */
#define DIGIT(n)                                                       \
	static NOINLINE uint32_t d##n(unsigned left, uint32_t number)  \
	{                                                              \
		if (!left)                                             \
			return work(number) + n;                       \
		return digits[number % 10](left - 1, number / 10) + n; \
	}
DIGIT(0)
DIGIT(1)
DIGIT(2)
DIGIT(3)
DIGIT(4)
DIGIT(5)
DIGIT(6)
DIGIT(7)
DIGIT(8)
DIGIT(9)

static void *
run(void *arg)
{
	for (uint32_t i = 0; time(NULL) < end; i = (i + STRIDE) % stacks)
		sink = digits[i % 10](depth - 1, i / 10);
	return arg;
}

int
main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t;

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	if (argc > 3 && argv[3][0] > '0' && argv[3][0] <= '8')
		depth = (unsigned)atoi(argv[3]);
	for (unsigned i = 0; i < depth; i++)
		stacks *= 10;
	puts("ready");
	fflush(stdout);
	while (--threads > 0)
		if (pthread_create(&t, NULL, run, NULL))
			return EXIT_FAILURE;
	run(NULL);
	return 0;
}
