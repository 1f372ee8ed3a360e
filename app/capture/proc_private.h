/* What proc_stack.c and proc_topup.c share. */
#pragma once

#include "capture/proc.h"

/*
 * Walks a stack again whose dump was too short, with more of it read from
 * memory, until its root is found or nothing more is to be had.
 *
 *   Shape    pcs[max] and *n as of the walk so far; both are replaced when
 *            more was found
 */
void
process_top_up(struct process *proc, const struct record *r,
               struct proc_stack *out, uint64_t *pcs, size_t max, size_t *n);
