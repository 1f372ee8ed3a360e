/*
 * Random numbers from a seed, so that a test which fails will fail again.
 *   Source   splitmix64, Sebastiano Vigna
 */
#pragma once

#include <stdint.h>

uint64_t random_next(uint64_t *seed);
/* Returns a number from 0 to below 1. */
double random_real(uint64_t *seed);
