/*
 * Numbers of a seed: a test that fails, fails again.
 *   Source   splitmix64, Sebastiano Vigna
 */
#pragma once

#include <stdint.h>

uint64_t random_next(uint64_t *seed);
