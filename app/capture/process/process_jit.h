/*
 * Frames of code that was compiled at run time, for processes that have some.
 */
#pragma once

#include "process.h"

/* Sets the addresses of a mapping that a language steps through.
 *   Shape    at is the module of out */
void process_jit_mapping(struct process *proc, const struct module *at,
                         struct unwind_mapping *out);
/* Prepares a walk of the process's unwinder. */
void process_jit_begin(struct process *proc);
/*
 * Appends the functions of a frame; false when it stands for itself.
 *   Shape    pc is pcs[i], the byte before it unless i is 0 */
bool process_jit_frame(struct process *proc, size_t i, uint64_t pc,
                       struct proc_stack *out);
/* Forgets the runtime of a process, since it may have stopped. */
void process_forget_jit(struct process *proc);
