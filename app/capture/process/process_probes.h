/* Watches the allocation functions of a process, for a sampler that asks for
 * it: capture/allocs.h. */
#pragma once

#include "process.h"

/*
 * Has all allocators that the process has mapped watched; those that are
 * already stay as they are. Failures leave allocations out.
 *   Shape    late: the process has just begun, and may end soon: it is watched
 *            if it still lives in a moment
 */
void process_probe(struct process *proc, const struct sampler *s, bool late);
/* Ends that, since the process runs another program. */
void process_unprobe(struct process *proc, const struct sampler *s);
/* True for the stack of an allocation within another one, which was told of. */
bool
process_allocs_within(const struct process *proc, const struct sampler *sampler,
                      const struct proc_stack *stack);
/* True when an allocator that is watched has functions that throw, of which
 * memory in use is not told. */
bool process_allocs_throw(const struct process *proc);
