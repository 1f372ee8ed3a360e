/*
 * The arguments of static probes at which a program reports what it has
 * sampled of its own allocations, as BPF programs read them:
 * capture/probes/memory_sampler.h.
 */
#pragma once

#include <stdint.h>

enum allocs_from { ALLOCS_CONSTANT, ALLOCS_REGISTER, ALLOCS_MEMORY };
struct allocs_argument {
	uint8_t from;      /* enum allocs_from */
	uint8_t reg;       /* number of the register, or of the one with the
	                      address, to which plus is added */
	uint8_t bytes;     /* 1, 2, 4 or 8 */
	uint8_t is_signed; /* matters for fewer than 8 bytes */
	int32_t plus;      /* the addend, or the constant */
};

struct allocs_sampled {
	struct allocs_argument memory;
	struct allocs_argument bytes, weight; /* unused by releases */
};

/* Limit of static probes of a process. Each has a value in the map of
 * arguments; the values of a slot are consecutive. */
#define ALLOCS_MOST_STATIC 16
