/*
 * The processes that captures follow, by the kernel's records of their lives: a
 * child of a followed process is followed, with its parent's mappings until it
 * runs another program. Nothing is polled, so even a process that lives for a
 * few ms is followed.
 *
 * A watcher is one capture, as a bit; a process is followed while it has any
 * watcher.
 */
#pragma once

#include "capture/host.h"
#include "capture/host/memory.h"
#include "capture/host/record.h"
#include "capture/sampler/sampler.h"
#include "maps.h"
#include "modules.h"
#include "place.h"

#define PROCS_MAX       65536
#define PROCS_MAX_STACK 1024 /* frames of one sample */

enum proc_event {
	PROC_NEW,    /* a process, with its first thread */
	PROC_THREAD, /* one more thread */
	PROC_THREAD_EXIT,
	PROC_NAME, /* the name of a thread */
	PROC_EXEC,
	PROC_EXIT,      /* a process and its first thread ended */
	PROC_BACK,      /* a process reported as ended is alive */
	PROC_LEFT,      /* a process is no longer followed, but lives */
	PROC_UNWATCHED, /* it ended before its allocations were watched */
	PROC_WATCHED,   /* it goes on after PROC_UNWATCHED */
	PROC_FULL, /* a process that could not be followed, past PROCS_MAX */
};
struct proc_news {
	enum proc_event event;
	uint32_t pid, tid;   /* tid 0: a thread that existed before */
	uint32_t ppid, ptid; /* its creator; 0: it existed before */
	uint64_t time_ns;    /* CLOCK_MONOTONIC; 0: it existed before */
	const char *name;    /* in PROC_NAME and PROC_EXEC */
};
/* Called with news of the processes of some watchers. */
typedef void
proc_seen(void *arg, uint64_t watchers, const struct proc_news *news);

/* Names of threads, as process_names.h reads them. */
struct proc_names {
	struct host_thread *rows; /* by tid in the process's pid namespace */
	size_t n;
	bool old;         /* a thread was named since the last reading */
	uint64_t next_ns; /* earliest next reading; CLOCK_MONOTONIC */
};

struct process {
	uint32_t pid, parent, origin; /* origin: the watched process it
	                                 descends from */
	uint64_t watchers;
	uint32_t threads;  /* exact, except in an origin */
	uint64_t since_ns; /* when it was found; older records are out of
	                      date */
	/* When its first thread ended, or another one since then; 0: it lives.
	 * Other threads may go on: then this is 0 again. */
	uint64_t gone_ns;
	uint32_t gone_tid; /* the thread that ended at gone_ns */
	bool headless;     /* its first thread ended */
	bool forked;       /* and has executed no program since */
	bool forks;        /* it has created a process since its last execve */
	bool shares;       /* forked with the memory of its parent */
	bool compared;     /* whether it shares is known */
	bool unwatched;    /* PROC_UNWATCHED was reported */
	bool loading;      /* the kernel may be loading its program */
	struct maps maps;
	struct modules *modules;
	struct unwinder *unwinder; /* made for its first sample */
	bool unreadable;           /* its memory can't be read */
	bool titled;               /* title is of the program that it runs */
	struct place title;        /* process_title.h; its parent's at first */
	struct proc_futile {
		uint64_t end, until_ns;
	} futile[16];       /* short copies, by their end: see proc_stack.c */
	bool interp_looked; /* interp is as complete as possible */
	struct interp_process *interp; /* NULL: no interpreter */
	bool runtime_looked;           /* runtime is as complete as possible */
	uint32_t runtime;              /* process_runtime.h */
	bool jit_looked;               /* jit is as complete as possible */
	struct jit_process *jit;       /* NULL: compiles nothing */
	struct code_process *code;     /* process_code.h; NULL: nothing known */
	bool context_looked;           /* context is as complete as possible */
	struct context_process *context; /* NULL: its threads publish nothing */
	uint32_t probed[4], nprobed;     /* modules: process_probes.h */
	bool samples_itself;             /* probed[] have samplers */
	/* An allocator is not watched: only a copy of its file can be read, or
	 * the file can't be opened at all. */
	bool unprobed, unopened;
	bool has_32; /* maps a 32-bit file, whose allocations are not seen */
	uint64_t begun_ns;       /* start of its program, if it was followed
	                            then */
	bool leaderless;         /* unwatched: its first thread ended */
	uint32_t hidden;         /* allocator.hidden of its files */
	uint32_t replaced;       /* allocators that its settings replace, */
	bool settings_read;      /* if these were read */
	struct proc_names names; /* of its threads */
	struct process *next;    /* in the same bucket */
};

void process_free(struct process *p);
DEFINE_CLEANUP(struct process *, process_free)
/* Adds a mapping. If there is no room for its module, frames in it belong to
 * no known module. */
void process_learn(struct process *proc, struct modules *modules,
                   const struct map_seen *seen);
/*
 * Reads all mappings of a process, and its number of threads.
 *   Errors   -ESRCH the process is gone, -EACCES, -EPERM not allowed, -ENOMEM
 */
MUST_CHECK int process_read_maps(struct process *proc, struct modules *modules,
                                 uint32_t *threads);

/* Finds the mapping of the program that a process runs, which has an image;
 * NULL when unknown. */
const struct map *process_program(const struct process *proc);
/* True if a library of the program, not the program itself, contains Go
 * code. */
bool process_has_go_library(const struct process *proc);

struct procs;

struct procs *procs_new(struct modules *modules, struct sampler *sampler,
                        proc_seen *seen, void *arg); /* NULL: out of memory */
void procs_free(struct procs *p);

/*
 * Follows a running process from now on; one that the watcher follows already
 * is unaffected.
 *   Errors   -ESRCH the process is gone, -EACCES, -EPERM not allowed, -ENOMEM
 */
MUST_CHECK int procs_watch(struct procs *p, uint32_t pid, uint64_t watcher);
/* True when a watcher follows a process. */
bool procs_follows(struct procs *p, uint32_t pid, uint64_t watcher);
/* Stops following one process, if the watcher follows it; its children are
 * still followed. */
void procs_drop(struct procs *p, uint32_t pid, uint64_t watcher);
/* Lists up to max processes of a watcher, and returns their number. */
size_t
procs_list(const struct procs *p, uint64_t watcher, int32_t *out, size_t max);
/* Returns the first process of a watcher for which is() is true, or NULL. */
const struct process *
procs_find(const struct procs *p, uint64_t watcher,
           bool (*is)(const struct process *proc, void *arg), void *arg);
/* Marks the modules that processes have mapped. */
void procs_modules(const struct procs *p, bool in_use[static MODULES_MAX]);
/* Forgets processes whose first thread ended before a time; their other threads
 * rarely live longer. */
void procs_forget_gone(struct procs *p, uint64_t before_ns);
/* Stops following all processes of a watcher. */
void procs_leave(struct procs *p, uint64_t watcher);
/* Turns the sampling of threads that run only in the kernel on or off; they
 * belong to no followed process. */
void procs_with_kernel(struct procs *p, bool with);
/* Stops the sampling of a process that is not followed. */
void procs_deny(struct procs *p, uint32_t pid);
/* Handles a record other than a sample. */
void procs_apply(struct procs *p, const struct record *r);
/* Notes by a sample that a process still runs, though its first thread has
 * ended. */
void procs_ran(struct procs *p, struct process *proc, const struct record *r);
/* Finds the process of a sample; NULL when it is not followed. */
struct process *procs_of_sample(struct procs *p, uint32_t pid);

/* Limit of reads of stacks in one drain. Each read waits for an answer, for
 * some ms if the CPU is busy, while the rings fill. */
#define PROCS_TOPUPS    64
#define PROCS_TOPUP_NS  UINT64_C(20000000)    /* limit of their total time */
#define PROCS_MAX_TOPUP (4 * HOST_MAX_MEMORY) /* bytes of one stack */
#define PROCS_MAX_FAR   4                     /* pieces beyond large frames */

enum interp_had {
	INTERP_WITHOUT, /* no interpreter in the stack */
	INTERP_MERGED,  /* its functions are in the stack */
	INTERP_MISSED,  /* its functions are missing */
	INTERP_LATE,    /* the thread was not followed yet */
	INTERP_UNKNOWN, /* the interpreter's layout is not known */
};

/* A copy of the stack that a thread left for another one. */
struct proc_other {
	uint32_t pid;
	struct memory_piece read;
};

/* The rest of a stack, in a file: what follows addr. It completes copies that
 * end at addr with the bytes in before[]. */
struct proc_rest {
	uint32_t pid;
	uint64_t addr;
	uint8_t before[HOST_EXPECT];
	int fd;
};

struct proc_stack {
	size_t n;
	enum unwind_end end;    /* of the user part */
	uint32_t last_module;   /* where the stack breaks off; unset if
	                           it reaches the root */
	bool is_32;             /* of a 32-bit program: only its leaf */
	bool cut;               /* the copy was too short, */
	bool topped_up;         /* and more of it was read from memory */
	unsigned topups;        /* reads left in this drain, */
	uint64_t topups_end_ns; /* and the end of their time; CLOCK_MONOTONIC */
	struct proc_other others[PROCS_TOPUPS]; /* read in this drain */
	size_t nothers;
	struct memory_batch read;             /* holds others[] */
	struct proc_rest rests[PROCS_TOPUPS]; /* read in this drain */
	size_t nrests;
	enum interp_had interp;
	/* A JIT-compiled function could not be read, since memory had changed;
	 * or none can be, since the layout is not known. */
	bool jit_missed, jit_unknown;
	uint32_t runtime; /* process_runtime.h */
	uint8_t whole[PROCS_MAX_TOPUP];
	struct unwind_piece far[PROCS_MAX_FAR]; /* of others[], for one walk */
	size_t nfar;
	/* Innermost frame first; one extra place for a title. */
	struct place places[PROCS_MAX_STACK + 1];
};
/* Begin and end a drain, in which all samples are older than the reads. */
void process_stacks_begin(struct proc_stack *s);
void process_stacks_end(struct proc_stack *s);
/*
 * Finds the kernel frames, then the user frames, of a sample of this process.
 * If a stack goes on above its copy, the rest is read from the process's
 * memory, provided it is unchanged there; this decrements topups. A sample
 * without a user part needs no process: proc may be NULL.
 */
void process_stack(struct process *proc, const struct record *r,
                   struct proc_stack *out);

/* Finds the place of an address within a function; MODULE_UNKNOWN if no code is
 * mapped there. */
struct place process_place(const struct process *proc, uint64_t pc);

/* Starts following the frames of a thread, if an interpreter runs it. */
void
process_interp_thread(struct process *proc, struct sampler *s, uint32_t tid);
/* Starts following the frames of all threads of a process, once. */
void process_interp_threads(struct process *proc, struct sampler *s);
/* Keeps where the frames of a thread were found, for its next samples. */
void process_interp_keep(struct process *proc, struct sampler *s,
                         const struct interp_stack *found);

/* A thread outside the sampler's stream: at rest or stopped. */
struct proc_thread {
	uint32_t tid;
	uint64_t pc, sp;
	const uint64_t *regs; /* all UNWIND_REGS registers; NULL: not known */
	const uint64_t *args; /* as in unwind_blocked() */
	const void *stack;    /* from sp upwards */
	size_t len;
};
/* Finds the frames of such a thread. */
void process_thread_stack(struct process *proc, const struct proc_thread *t,
                          struct proc_stack *out);

/* Called for each stack; returns 0, or -errno to stop. */
typedef int process_waiting_seen(void *arg);
/*
 * Finds what waits in a process without occupying a thread: asyncio tasks.
 *   Errors   -ENOMEM, that of seen, and others if the list could not be read
 */
MUST_CHECK int process_waiting(struct process *proc, struct proc_stack *out,
                               process_waiting_seen *seen, void *arg);
