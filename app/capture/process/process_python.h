/*
 * Interpreter frames, for the stacks that have some.
 */
#pragma once

#include "process.h"

struct python_runs {
	uint32_t n, nplaces, at;
	bool skip; /* the innermost call has no run yet */
	uint64_t places[PYTHON_MAX_FRAMES]; /* innermost first */
	bool ends[PYTHON_MAX_FRAMES];       /* the last frame of a run */
};

/* Reads the frames of a thread that stands still; false when it has none. */
bool process_python_read(struct process *proc, uint32_t tid,
                         struct python_stack *out);
/* Sets where an interpreter's code is, for a mapping of memory without a file:
 * with -X perf the interpreter calls itself through code there. */
void process_python_code(struct process *proc, struct unwind_mapping *out);
/*
 * Prepares the interpreter frames of a sample, if there are any and they match
 * its native ones; sets out->python.
 *
 *   Shape    s is the stack from the ring, or NULL; pcs[n] are native frames;
 *            *runs need
 * not be initialized
 */
bool process_python(struct process *proc, const struct python_stack *s,
                    const uint64_t *pcs, size_t n, struct proc_stack *out,
                    struct python_runs *runs);
/* Appends the run for frame i; false when the frame stands for itself. */
bool python_next_run(const struct process *proc, const uint64_t *pcs, size_t i,
                     struct python_runs *runs, struct proc_stack *out);
/* Appends the frames for which there is no native frame. */
void python_rest(struct python_runs *runs, struct proc_stack *out);
/* Forgets that the process runs Python, since it may have stopped. */
void process_forget_python(struct process *proc);
