/*
 * Hashing for tables in memory. Use hash_keyed() if an untrusted peer chooses
 * the keys and could choose some that collide. None of these functions is
 * cryptographic.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Mixes one word. Source: Fibonacci hashing, Knuth TAOCP 6.4. */
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
	if (n)
		memcpy(&w, s, n);
	return hash_pair(h, w);
}

/* Multiplies, and folds the halves of the 128-bit product. Source: mum of
 * wyhash, Wang Yi. */
static inline uint64_t
hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

/* Hashes untrusted bytes; key must come from random_bytes(). */
static inline uint64_t
hash_keyed(uint64_t key, const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = hash_fold(n ^ UINT64_C(0x9E3779B97F4A7C15), key), w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = hash_fold(h ^ w, key);
	}
	w = 0;
	if (n)
		memcpy(&w, s, n);
	return hash_fold(h ^ w, key);
}
