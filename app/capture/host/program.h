/*
 * What loaders of BPF programs share. The programs know processes by their pid
 * in the initial namespace; a map has one bit per pid.
 */
#pragma once

#include "base/cleanup.h"
#include "program_kernel.h"

#include <stdint.h>

/* Returns how many pids need a bit, rounded up to a multiple of 64. */
uint32_t program_pids(void);
/* Returns 0 in the initial pid namespace, -EXDEV in another. */
MUST_CHECK int program_namespace(void);
/* Fills the constant kernel_has, which interp_walk.bpf.h declares. */
void program_kernel(uint32_t out[static PROGRAM_KERNEL]);
/* Duplicates a descriptor, since a skeleton closes its own; -errno. */
MUST_CHECK int program_keep(int fd);
