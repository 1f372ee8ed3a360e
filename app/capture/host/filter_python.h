/* The part of the filter's program that follows interpreted frames. */
#pragma once

#include "bpf_code.h"
#include "python_ring.h"

struct python_maps {
	int slots;     /* map that holds struct python_slot */
	uint32_t at;   /* bytes into its value */
	int rings;     /* map of a ring per CPU */
	uint32_t size; /* stacks in each */
};

/*
 * Appends it.
 *   Shape    register 9 holds what get_current_pid_tgid returned; falls
 *            through to what follows, whether there is a stack or not; all
 *            registers are used
 */
void bpf_python(struct bpf_code *c, const struct python_maps *maps);
