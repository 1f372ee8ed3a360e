/*
 * Hashing for tables in memory; not for anything an attacker must not steer
 * into collisions without a seed, and never for secrets.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Spreads one word; Source: Fibonacci hashing, Knuth TAOCP 6.4. */
static inline uint64_t
hash_u64(uint64_t x)
{
	x *= UINT64_C(0x9E3779B97F4A7C15);
	return x ^ (x >> 32);
}

static inline uint64_t
hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(a) ^ (b + UINT64_C(0xC2B2AE3D27D4EB4F)));
}

static inline uint64_t
hash_bytes(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = n, w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = hash_pair(h, w);
	}
	w = 0;
	memcpy(&w, s, n);
	return hash_pair(h, w);
}
