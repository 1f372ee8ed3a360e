/* Names of a process's threads, to show which thread another one waits for. */
#pragma once

#include "process.h"

/*
 * Finds the name of a thread by its tid in its pid namespace; NULL when the
 * process has no such thread. Names are read again when one is missing, or a
 * thread was named since; readings are limited so that they cost little. The
 * text is valid until the next call.
 */
const char *process_thread_name(struct process *proc, uint32_t inner);
/* Likewise by the tid that the kernel reports. */
const char *process_thread_name_of(struct process *proc, uint32_t tid);
