/*
 * Contexts that the threads of a process publish (capture/contexts), for its
 * samples. They are looked for in processes with a file that defines the
 * variable; in others there is nothing to read.
 */
#pragma once

#include "capture/contexts/thread_context.h"
#include "process.h"

/* Requests contexts with the process's samples, once it publishes any. */
void process_context_follow(struct process *proc, struct sampler *s);
/* Reads the context that came with a sample; false if there is none. *out is
 * valid until the next call. */
bool process_context(struct process *proc, const struct record *r,
                     struct thread_context *out);
/* Follows a forked child as its parent is followed. */
void process_context_fork(struct process *child, const struct process *parent,
                          struct sampler *s);
void process_forget_context(struct process *proc);
