/*
 * BPF programs identify processes by the kernel's own pids, with a bit for each
 * in a map.
 */
#pragma once

#include "base/cleanup.h"
#include "program_kernel.h"

#include <stdint.h>

/* Returns how many processes need a bit, a multiple of 64. */
uint32_t program_pids(void);
/* Returns 0 when pids in this namespace are the kernel's own, else -EXDEV. */
MUST_CHECK int program_namespace(void);
/* Fills the constant of that name that interp_walk.bpf.h declares. */
void program_kernel(uint32_t out[static PROGRAM_KERNEL]);
/* Duplicates a descriptor, since a skeleton closes its own; -errno. */
MUST_CHECK int program_keep(int fd);
