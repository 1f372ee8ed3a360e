/* Names of a process's threads, for those that other threads wait for. */
#pragma once

#include "process.h"

/*
 * Finds the name of a thread by its number in its own pid namespace; NULL when
 * the process has no such thread. Names are read when one is not known, or
 * another thread was named since: seldom enough that this costs little. The
 * text is valid until the next call.
 */
const char *process_thread_name(struct process *proc, uint32_t inner);
