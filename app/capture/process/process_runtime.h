/*
 * Programs that run a language whose runtime can't be read: the name of the
 * program says which, and the capture's report says what helps.
 */
#pragma once

#include "process.h"

/*
 * Returns the bit of enum quality_runtime if functions of such a language may
 * be missing from the stack: the stack passes the program's file, or generated
 * code. 0: they can't.
 */
uint32_t process_runtime(struct process *proc, const struct proc_stack *stack);
