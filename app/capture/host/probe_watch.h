/*
 * Processes that are watched by probes at their functions: the messages that
 * name them, and what the probes cost them.
 *
 * Each process has an account. A part of its CPU time, set by the budget, is
 * credited; the cost of probes is debited. All calls that the BPF program sees
 * are debited, including those while probes are inserted and removed, and so
 * are samples. The balance is at most PROBE_CREDIT_NS, so that a process cannot
 * save up credit for a long expensive time; and at least -PROBE_CREDIT_NS, so
 * that a look that came late, for lack of a CPU, does not end the watching for
 * good.
 */
#pragma once

#include "capture/allocs.h"
#include "probe_link.h"

#define PROBE_CREDIT_NS (100 * NS_PER_MS)
/* Upper bound of what a sample costs the process: 16 KiB of its stack are
 * copied, and an interrupt wakes the reader of samples. */
#define PROBE_SAMPLE_NS 8000
/* A process is assumed to use at least 1 / PROBE_OWN_PART of its CPU time for
 * itself: a smaller part is the difference of two almost equal numbers, each
 * known to some percent. */
#define PROBE_OWN_PART 4

struct probe_account {
	struct emit_calls was; /* at the last look */
	int64_t looked_ns;
	int64_t used_ns;   /* CPU time that was used until then */
	int64_t credit_ns; /* negative: probes have cost too much */
	double earns;      /* ns of credit per ns, roughly */
};

/* A process that has a slot. */
struct probe_target {
	struct allocs_of of; /* pid 0: the slot is unused */
	int file;            /* with its functions; -1: no longer needed */
	int links[2];        /* -1: none */
	/* The functions' pages, kept in memory while probes are inserted or
	 * removed: the kernel would read a missing one while no process can
	 * fork. */
	void *pages[2 * ALLOCS_MAX_PLACES]; /* NULL: none */
	int64_t next_ns; /* when to look again; INT64_MAX: never */
	struct probe_account account;
};

struct probe_watch {
	int calls_fd;     /* a map of struct emit_calls, by slot and CPU */
	int arguments_fd; /* a map of struct allocs_sampled, by slot and probe */
	int locks_fd;     /* of locks_open() */
	unsigned budget;  /* of a process's CPU time, in thousandths */
	unsigned least;   /* of a CPU, in thousandths: use credited at least */
	bool returns;     /* the return of a sampled call is watched, too */
	struct probe_cost call;
	int own_link; /* with which it was measured, since removing it can take
	                 longer than the measurement; -1: none */
	unsigned ncpus;
	struct emit_calls *percpu; /* room for one value of each CPU */
	struct probe_target targets[EMIT_SLOTS];
	/* For inserting and removing probes: the CPU time that is left, when it
	 * was computed, and what each group took. */
	int64_t links_ns, links_at_ns, links_of_ns[ALLOCS_GROUPS];
};

/*
 * Measures what a call costs on this machine; this takes some 10 ms.
 *
 *   Shape    w: members up to returns are set, the rest 0; prog_fd: a program
 *            for PROBE_CALLS, which counts calls; the measured calls use its
 *            last slot
 *   Errors   -ENOMEM
 */
MUST_CHECK int probe_watch_init(struct probe_watch *w, int prog_fd);

/* A process between two looks. */
struct probe_look {
	int64_t ns;
	int64_t cost_ns; /* of calls, to the process */
	int64_t own_ns;  /* the rest of its CPU time, or somewhat more: each
	                    call is taken at call.least_ns */
	int64_t used_ns; /* all of its CPU time */
	uint64_t calls, bytes, costly;
};

/* Begins the account of a slot's process. */
void probe_begin(struct probe_watch *w, uint32_t slot, int64_t credit_ns);
/* Updates the account of a slot's process, and returns what happened since the
 * last look. */
struct probe_look probe_look(struct probe_watch *w, uint32_t slot);
/* Returns how long until the account's balance is credit_ns, if the process
 * uses as much CPU time as before. */
int64_t probe_wait_ns(const struct probe_account *a, int64_t credit_ns);

/* Links a program to the functions of a slot's process that bits selects.
 * Returns as probe_link() does, or -ENOENT when there are no such functions. */
MUST_CHECK int
probe_watch_link(const struct probe_watch *w, uint32_t slot, uint64_t bits,
                 enum probe_link_type type, int prog_fd);
/* Removes the probes of a process, once no process keeps its memory locked. */
void probe_unlink(const struct probe_watch *w, struct probe_target *t);
/* Removes the probes, and frees the slot. */
void probe_forget(const struct probe_watch *w, struct probe_target *t);

struct probe_watcher {
	/* Looks at a process that is due, and sets the time of its next
	 * look. */
	void (*look)(void *arg, uint32_t slot);
	/* Stops watching a slot's process; the slot is unused afterwards. */
	void (*forget)(void *arg, uint32_t slot);
	/* Called before each round of looks; may be NULL. */
	void (*round)(void *arg);
	/* True for a slot whose process has ended, and which another process
	 * may take; its samples are then forgotten. NULL: no such slots. */
	bool (*is_spare)(void *arg, uint32_t slot);
	void *arg;
};

/* Watches the processes named by messages, until the other end of socket or of
 * hold is closed. Then removes all probes. */
void probe_watch_run(struct probe_watch *w, const struct probe_watcher *by,
                     int socket, int hold);
