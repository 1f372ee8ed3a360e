/*
 * Processes that are watched by probes at their functions: the messages that
 * name them, and what their calls cost them.
 *
 * A process has an account. A part of its own CPU time fills it, as the budget
 * says, and what probes cost it empties it. All calls count that the program in
 * the kernel sees, those while probes are put in and taken away, too, and so do
 * samples. No more than PROBE_CREDIT_NS is on the account, so that a process
 * that long cost nothing does not pay for it later; and no less than so much is
 * missing, so that a look that came late, when there was no CPU for it, does
 * not end the watching for good.
 */
#pragma once

#include "capture/allocs.h"
#include "probe_link.h"

#define PROBE_CREDIT_NS (100 * NS_PER_MS)
/* A sample costs the process so much at most: 16 KiB of its stack are copied,
 * and who reads samples is woken by an interrupt. */
#define PROBE_SAMPLE_NS 8000
/* So large a part of its CPU time a process is taken to use for itself at
 * least: less is the difference of two numbers that are almost the same, each
 * known to some percent. */
#define PROBE_OWN_PART 4
/* A process that has just begun may end soon. */
#define PROBE_LATE_NS (200 * NS_PER_MS)

struct probe_account {
	struct emit_calls was; /* at the last look */
	int64_t looked_ns;
	int64_t used_ns;   /* of CPU time, until then */
	int64_t credit_ns; /* negative: the process has paid too much */
	double earns;      /* in a ns, by and large */
};

/* A process that has a slot. */
struct probe_target {
	struct allocs_of of; /* pid 0: the slot is unused */
	int file;            /* with its functions; -1: not needed any more */
	int links[2];        /* -1: without */
	int64_t next_ns;     /* when to look again; INT64_MAX: never */
	struct probe_account account;
};

struct probe_watch {
	int calls_fd;    /* a map of struct emit_calls, by slot and CPU */
	unsigned budget; /* of a process's CPU time, in thousandths */
	unsigned least;  /* of a CPU, in thousandths, a process uses, even if
	                    it uses less */
	bool returns;    /* a call that is told of is watched when it returns,
	                    too */
	struct probe_cost call;
	unsigned ncpus;
	struct emit_calls *percpu; /* room for one value of each CPU */
	struct probe_target targets[EMIT_SLOTS];
};

/*
 * Measures what a call costs on this machine; that lasts some 10 ms.
 *
 *   Shape    w: all up to returns is set, the rest 0; prog_fd: a program for
 *            PROBE_CALLS, which counts calls; its last slot is used for those
 *            that are measured
 *   Errors   -ENOMEM
 */
MUST_CHECK int probe_watch_init(struct probe_watch *w, int prog_fd);

/* A process between two looks. */
struct probe_look {
	int64_t ns;
	int64_t cost_ns; /* of calls, to the process */
	int64_t own_ns;  /* the rest of its CPU time, or somewhat more: as if
	                    calls had cost the least that they can */
	uint64_t bytes;
};

/* Begins the account of a slot's process. */
void probe_begin(struct probe_watch *w, uint32_t slot, int64_t credit_ns);
/* Looks at what a process has cost since the last look. */
struct probe_look probe_look(struct probe_watch *w, uint32_t slot);
/* Returns how long an account takes until so much is on it, as long as the
 * process uses as much CPU time as before. */
int64_t probe_wait_ns(const struct probe_account *a, int64_t credit_ns);

/* Links a program to those functions of a slot's process that have a bit; as
 * probe_link(), and -ENOENT when there are none. */
MUST_CHECK int
probe_watch_link(const struct probe_watch *w, uint32_t slot, uint32_t bits,
                 enum probe_link_type type, int prog_fd);
/* Takes the probes of a process away, and frees its slot, too. */
void probe_unlink(struct probe_target *t);
void probe_forget(struct probe_target *t);

struct probe_watcher {
	/* Looks at a process for which it is time, and says when the next look
	 * is due. */
	void (*look)(void *arg, uint32_t slot);
	/* Ends whatever is done about a slot, which is unused then. */
	void (*forget)(void *arg, uint32_t slot);
	/* Before a round of looks, if it is set. */
	void (*round)(void *arg);
	/* True for a slot whose process has ended, and whose samples may be
	 * forgotten for another one's sake; NULL: there are none. */
	bool (*is_spare)(void *arg, uint32_t slot);
	void *arg;
};

/* Does what it is told by messages, until one of the other ends is closed. */
void probe_watch_run(struct probe_watch *w, const struct probe_watcher *by,
                     int socket, int hold);
