/* Interpreted frames, for the stacks that have some. */
#pragma once

#include "process.h"

struct python_runs {
	uint32_t n, nplaces, at;
	bool skip; /* the innermost call has no run yet */
	uint64_t places[PYTHON_MAX_FRAMES]; /* innermost first */
	bool ends[PYTHON_MAX_FRAMES];       /* the last of a run */
};

/* Reads those of a thread that stands still; false: it has none. */
bool process_python_read(struct process *proc, uint32_t tid,
                         struct python_stack *out);
/* Where an interpreter's code is, for a mapping of memory without a file:
 * with -X perf it calls itself through code there. */
void process_python_code(struct process *proc, struct unwind_mapping *out);
/*
 * The interpreted frames of a sample, if there are any and they fit to its
 * native ones; sets out->python.
 *
 *   Shape    s: as they were taken, or NULL; pcs[n]: native frames; *runs need
 * not be initialized
 */
bool process_python(struct process *proc, const struct python_stack *s,
                    const uint64_t *pcs, size_t n, struct proc_stack *out,
                    struct python_runs *runs);
/* Appends the run that stands for frame i; false: it stands for itself. */
bool python_next_run(const struct process *proc, const uint64_t *pcs, size_t i,
                     struct python_runs *runs, struct proc_stack *out);
/* Appends what no native frame was found for. */
void python_rest(struct python_runs *runs, struct proc_stack *out);
/* Forgets that the process runs Python: it may not any more. */
void process_forget_python(struct process *proc);
