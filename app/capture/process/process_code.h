/*
 * Code that a process generates: code that it describes to debuggers, by GDB's
 * interface for JIT compilers, and copies of code that nothing describes,
 * whose instructions lead to its callers.
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
/* Looks for code that was described since the last look; true if there is
 * some, which is then mapped like the code of a file. Call it for addresses in
 * unknown code. */
bool process_code_look(struct process *proc);
/* Narrows a mapping of code that nothing describes to a part around addr, and
 * adds a table by which instructions are followed there. */
void process_code_copy(struct process *proc, uint64_t addr,
                       struct unwind_mapping *out);
/* Forgets what was learnt about a process, which may run another program
 * now. */
void process_forget_code(struct process *proc);
