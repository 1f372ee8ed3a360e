/*
 * Interpreter frames, for the stacks that have some.
 */
#pragma once

#include "process.h"

struct interp_runs {
	uint32_t n, nplaces, at;
	uint32_t between; /* most frames between two calls of the interpreter
	                     that share a run */
	bool skip;        /* the innermost call has no run yet */
	bool partly;      /* interpreters of outer calls were not read */
	uint64_t places[INTERP_MAX_FRAMES]; /* innermost first */
	bool ends[INTERP_MAX_FRAMES];       /* the last frame of a run */
};

/* Reads the frames of a thread that stands still; false when it has none. */
bool process_interp_read(struct process *proc, const struct proc_thread *t,
                         struct interp_stack *out);
/* Finds the copy of the stack that a sample's thread left for another one, if
 * the language makes such copies; empty if the language runs nothing there.
 * False: the thread left none, or it is not known. */
bool process_interp_stack(struct process *proc, const struct interp_stack *s,
                          struct unwind_piece *out);
/* Sets where an interpreter's code is, for a mapping of memory without a file:
 * with -X perf the interpreter calls itself through code there. */
void process_interp_code(struct process *proc, struct unwind_mapping *out);
/*
 * Prepares the interpreter frames of a sample, if there are any and they match
 * its native ones; sets out->interp.
 *
 *   Shape    s is the stack from the ring, or NULL; pcs[n] are native frames;
 *            *runs need not be initialized
 */
bool process_interp(struct process *proc, const struct interp_stack *s,
                    const uint64_t *pcs, size_t n, struct proc_stack *out,
                    struct interp_runs *runs);
/* True for the frame of an interpreter's core, or of a call that goes on with a
 * run: the run of its caller replaces it, too. */
bool interp_is_core(const struct process *proc, const uint64_t *pcs, size_t i,
                    size_t n, const struct interp_runs *runs);
/* Appends the run for frame i; false when the frame stands for itself. */
bool interp_next_run(const struct process *proc, const uint64_t *pcs, size_t i,
                     struct interp_runs *runs, struct proc_stack *out);
/* Appends the frames for which there is no native frame. */
void interp_rest(const struct process *proc, struct interp_runs *runs,
                 struct proc_stack *out);
/* Follows a forked child as its parent is followed. */
void process_interp_fork(struct process *child, const struct process *parent,
                         struct sampler *s);
/* Forgets that an interpreter runs the process, since it may have stopped. */
void process_forget_interp(struct process *proc);
