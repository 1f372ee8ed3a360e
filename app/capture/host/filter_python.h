/*
 * The part of the filter's program that follows interpreter frames.
 */
#pragma once

#include "bpf_code.h"
#include "python_ring.h"

struct python_maps {
	int slots;     /* map that holds struct python_slot */
	uint32_t at;   /* offset in its value, bytes */
	int rings;     /* map with a ring for each CPU */
	uint32_t size; /* stacks in each ring */
};

/*
 * Appends that part to a program.
 *   Shape    register 9 holds the result of get_current_pid_tgid; the code
 *            falls through to the next instruction, whether or not there was a
 *            stack; all registers are used
 */
void bpf_python(struct bpf_code *c, const struct python_maps *maps);
