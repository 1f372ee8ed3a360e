/*
 * Code that a process has made in memory: what it has described to debuggers,
 * by GDB's interface for compilers at run time, and copies of what nothing
 * describes, whose instructions lead to its callers.
 *
 *   Source   GDB manual, "JIT Compilation Interface": a list of object files in
 *            memory, as LLVM, Julia, QEMU and others keep it
 */
#pragma once

#include "process.h"

#define CODE_MAX_OBJECTS 256 /* of one process */
#define CODE_MAX_BYTES   ((size_t)32 << 20)

/* Prepares a walk of the process's unwinder. */
void process_code_begin(struct process *proc);
/* Looks for code that was described since the last look; true if there is some,
 * which is mapped then as that of a file is. Call it for code that is not known
 * yet. */
bool process_code_look(struct process *proc);
/* Narrows a mapping of code that nothing describes to a part around addr, and
 * adds a table by which instructions are followed there. */
void process_code_copy(struct process *proc, uint64_t addr,
                       struct unwind_mapping *out);
/* Forgets what was learnt about a process, which may run another program
 * now. */
void process_forget_code(struct process *proc);
