/*
 * The processes that captures follow, as the kernel's records tell their
 * lives: a child of a followed process is followed, with its parent's
 * mappings until it runs another program. Nothing is polled, so one that
 * lives a few ms counts like any other.
 *
 * A watcher is one capture, as a bit; a process is followed while it has
 * any.
 */
#pragma once

#include "capture/host/record.h"
#include "capture/sampler/sampler.h"
#include "maps.h"
#include "modules.h"
#include "place.h"

#define PROCS_MAX       65536
#define PROCS_MAX_TEXT  ((size_t)16 << 20) /* /proc/PID/maps */
#define PROCS_MAX_STACK 1024               /* frames of one sample */

enum proc_event {
	PROC_NEW,    /* with its first thread */
	PROC_THREAD, /* one more */
	PROC_THREAD_EXIT,
	PROC_NAME, /* of a thread */
	PROC_EXEC,
	PROC_EXIT, /* with its first thread */
	PROC_LEFT, /* it lives, and is not followed any more */
	PROC_FULL, /* one more that was not followed: PROCS_MAX */
};
struct proc_news {
	enum proc_event event;
	uint32_t pid, tid;   /* tid 0: of a thread that was there before */
	uint32_t ppid, ptid; /* who made it; 0: it was there before */
	uint64_t time_ns;    /* CLOCK_MONOTONIC; 0: it was there before */
	const char *name;    /* of PROC_NAME and PROC_EXEC */
};
/* Told of what happens to the processes of some watchers. */
typedef void
proc_seen(void *arg, uint64_t watchers, const struct proc_news *news);

struct process {
	uint32_t pid, parent, origin; /* origin: whom it descends from */
	uint64_t watchers;
	uint32_t threads;  /* when not an origin, exactly */
	uint64_t since_ns; /* when it was found; what was before is known */
	uint64_t gone_ns;  /* its first thread ended; 0: it lives */
	struct maps maps;
	const struct modules *modules;
	struct unwinder *unwinder; /* made for the first sample */
	bool unreadable;           /* its memory is not for us */
	struct proc_futile {
		uint64_t end, until_ns;
	} futile[16]; /* short copies, by where they end: see proc_stack.c */
	bool python_looked;            /* the next is what there is */
	struct python_process *python; /* NULL: it runs none */
	struct process *next;          /* of the same bucket */
};

void process_free(struct process *p);
DEFINE_CLEANUP(struct process *, process_free)
/* Adds a mapping. One whose file can't be had leaves a hole: its frames are
 * of no known module. */
void process_learn(struct process *proc, struct modules *modules,
                   const struct map_seen *seen);
/*
 * Learns all that it has now, and how many threads it has.
 *   Errors   -ESRCH it is gone, -EACCES, -EPERM not ours to see, -ENOMEM
 */
MUST_CHECK int process_read_maps(struct process *proc, struct modules *modules,
                                 uint32_t *threads);

/* Where it has mapped the program that it runs, which has an image then;
 * NULL: that can't be told. */
const struct map *process_program(const struct process *proc);

struct procs;

struct procs *procs_new(struct modules *modules, struct sampler *sampler,
                        proc_seen *seen, void *arg); /* NULL: no memory */
void procs_free(struct procs *p);

/*
 * Follows a process that runs, from now on; one that the watcher follows
 * already stays as it is.
 *   Errors   -ESRCH it is gone, -EACCES, -EPERM not ours to see, -ENOMEM
 */
MUST_CHECK int procs_watch(struct procs *p, uint32_t pid, uint64_t watcher);
/* Whether a watcher follows a process. */
bool procs_follows(struct procs *p, uint32_t pid, uint64_t watcher);
/* Ends it for one process, if the watcher follows it; what it has started
 * stays. */
void procs_drop(struct procs *p, uint32_t pid, uint64_t watcher);
/* The processes of a watcher, up to max of them; how many. */
size_t
procs_list(const struct procs *p, uint64_t watcher, int32_t *out, size_t max);
/* Marks the modules that their mappings are of. */
void procs_modules(const struct procs *p, bool in_use[static MODULES_MAX]);
/* Forgets those whose first thread ended before that time: it was the last
 * one, or nearly so. */
void procs_forget_gone(struct procs *p, uint64_t before_ns);
/* Ends it for all processes of a watcher. */
void procs_leave(struct procs *p, uint64_t watcher);
/* Takes in a record that is no sample. */
void procs_apply(struct procs *p, const struct record *r);
/* NULL when it is not followed; then it is denied at the sampler. */
struct process *procs_of_sample(struct procs *p, uint32_t pid);

/* Reads of stacks in one drain: each is a question that has to be waited for,
 * where others want the CPU for ms, while the rings fill. */
#define PROCS_TOPUPS    64
#define PROCS_TOPUP_NS  UINT64_C(20000000)    /* for so long */
#define PROCS_MAX_TOPUP (4 * HOST_MAX_MEMORY) /* bytes of one stack */

enum python_had {
	PYTHON_WITHOUT, /* nothing is interpreted there */
	PYTHON_MERGED,  /* its functions are in the stack */
	PYTHON_MISSED,  /* they could not be had */
};

struct proc_stack {
	size_t n;
	enum unwind_end end;    /* of the user part */
	uint32_t last_module;   /* of its last known frame; not at its root */
	bool cut;               /* more was wanted than its copy has, */
	bool topped_up;         /* and memory had some of that */
	unsigned topups;        /* left until the next drain, */
	uint64_t topups_end_ns; /* and when they end; CLOCK_MONOTONIC */
	enum python_had python;
	uint8_t whole[PROCS_MAX_TOPUP];
	struct place places[PROCS_MAX_STACK]; /* innermost first */
};
/*
 * Kernel frames, then user frames, of a sample of this process. Of a stack
 * that goes on above its copy the rest is read from the process's memory, if
 * it still stands there as it was; topups counts down.
 */
void process_stack(struct process *proc, const struct record *r,
                   struct proc_stack *out);

/* Has the functions of an interpreted thread told with its samples from now
 * on, if it is one. */
void
process_python_thread(struct process *proc, struct sampler *s, uint32_t tid);
/* The same of all its threads. */
void process_python_threads(struct process *proc, struct sampler *s);

/* A thread outside the sampler's stream: at rest or stopped. */
struct proc_thread {
	uint32_t tid;
	uint64_t pc, sp;
	const uint64_t *regs; /* all of them, UNWIND_REGS; NULL: not known */
	const void *stack;    /* from sp upwards */
	size_t len;
};
/* Its frames. */
void process_thread_stack(struct process *proc, const struct proc_thread *t,
                          struct proc_stack *out);
