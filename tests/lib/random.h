/*
 * Random numbers from a seed, so that a failing test fails again.
 *   Source   splitmix64, Sebastiano Vigna
 */
#pragma once

#include <stdint.h>

uint64_t random_next(uint64_t *seed);
/* Returns a number of [0, 1). */
double random_real(uint64_t *seed);
