/* Has the allocation functions of a process watched, for samplers of
 * allocations: capture/allocs.h. */
#pragma once

#include "process.h"

/*
 * Has all allocators that the process has mapped watched; allocators that are
 * watched already are unaffected. If this fails, the profile lacks allocations.
 *   Shape    late: the process has just started, and may end soon: watch it
 *            only if it still lives a moment later
 */
void process_probe(struct process *proc, const struct sampler *s, bool late);
/* True if a process that ends now started too recently for its allocations to
 * have been watched. */
bool process_allocs_missed(const struct process *proc, const struct sampler *s,
                           uint64_t now_ns);
/* Stops watching, since the process runs another program. */
void process_unprobe(struct process *proc, const struct sampler *s);
/* True for the stack of an allocation within another watched allocation, which
 * counts already. */
bool
process_allocs_within(const struct process *proc, const struct sampler *sampler,
                      const struct proc_stack *stack);
/* Leaves out the frames of a process's sampler, so that a stack begins where
 * that of a watched call does: in the allocator, or for memory in use in its
 * caller. */
void
process_allocs_trim(const struct process *proc, const struct sampler *sampler,
                    struct proc_stack *stack);
/* Returns the names of functions of watched allocators that cannot be watched,
 * or NULL when there are none. */
const char *process_allocs_unwatched(const struct process *proc);
/* True when a process's own sampler is read, not calls of its allocators. */
bool process_samples_itself(const struct process *proc);
/* True when an allocator is not watched because it lies in a file that may keep
 * the kernel waiting. */
bool process_allocs_unseen(const struct process *proc);
/* True when an allocator is not watched because its file can't be opened. */
bool process_allocs_unopened(const struct process *proc);
/* True when no allocator is watched because the first thread has ended. */
bool process_allocs_leaderless(const struct process *proc);
/* True for a 32-bit program, whose allocators are not watched. */
bool process_allocs_32(const struct process *proc);
/* True when a program has an allocator whose functions have no names. */
bool process_allocs_nameless(const struct process *proc);
/* Bits of enum quality_hidden: allocators that are not watched. */
uint32_t process_allocs_hidden(const struct process *proc);
/* True when a watched allocator has functions that throw, whose calls profiles
 * of memory in use lack. */
bool process_allocs_throw(const struct process *proc);
