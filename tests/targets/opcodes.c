/*
 * opcodes N: interprets N rounds of a made-up program with some frequent
 * operations and branches that are mostly not taken. A compiler that knows them
 * can lay out the code better.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t acc, mem[256];

__attribute__((noinline)) static void
rare(int x)
{
	for (int i = 0; i < 64; i++)
		mem[(x + i) & 255] ^= (uint64_t)(x * i);
}

static int
step(int op, int arg)
{
	switch (op) {
	case 0:
		if (arg == 0xfff1)
			rare(arg);
		acc += (uint64_t)arg;
		return 1;
	case 1:
		if (arg == 0xfff2)
			rare(arg + 2);
		acc ^= mem[arg & 255];
		return 1;
	case 2:
		mem[arg & 255] = acc;
		return 2;
	case 3:
		acc = acc & 1 ? acc * 6364136223846793005u + 1
		              : acc / 3 + (uint64_t)arg;
		return 1;
	case 4:
		if (arg > 100000)
			rare(arg);
		acc -= mem[(arg + 1) & 255];
		return 1;
	case 5:
		acc = acc << 7 | acc >> 57;
		return 1;
	case 6:
		if (acc == 42)
			rare(1);
		return 1;
	default:
		rare(op);
		return 1;
	}
}

static int
several(int x)
{
	int n = 0;

	for (int i = 0; i < 4; i++)
		n += x >> i & 1 ? step(x & 7, i + x) : step(x >> 1 & 7, i);
	return n;
}

static int
round_of(int x)
{
	int n = 0;

	for (int i = 0; i < 3; i++) {
		n += several(x + i);
		if (n == 123456789) {
			rare(n);
			n += several(n) + several(n + 1) + several(n + 2);
		}
	}
	return n;
}

int
main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	uint32_t z = 12345;
	long n = 0;

	for (long i = 0; i < rounds; i++) {
		z = z * 1664525 + 1013904223;
		n += round_of((int)(z >> 20) & 0x6f);
	}
	printf("%ld %llu\n", n, (unsigned long long)acc);
	return 0;
}
