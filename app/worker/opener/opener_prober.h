/*
 * Children of the opener that place probes on the functions with which
 * processes allocate memory (capture/allocs.h) and release it
 * (capture/inuse.h). They are separate processes since removing a probe can
 * take some 100 ms, and since the end of a child removes all its probes.
 *
 * Stoker never kills these children. If a fatal signal is pending while a
 * system call inserts or removes a probe, the kernel cannot fetch the page of
 * the breakpoint, which then stays for as long as the program runs: each call
 * that hits it costs a trap. The children therefore block all signals, and end
 * when the opener closes its socket or dies. An exiting process takes no more
 * signals, so the exit removes all probes. If a child is killed nevertheless,
 * as by the OOM killer, another child repairs what it left; if the whole worker
 * is killed, the next worker does.
 *   Source   Linux 6.18, kernel/events/uprobes.c, uprobe_unregister_nosync()
 *            ("failed to unregister, leaking uprobe") and
 *            uprobe_write_opcode(); mm/gup.c, __get_user_pages(): -EINTR if
 *            fatal_signal_pending(); kernel/signal.c, prepare_signal()
 */
#pragma once

#include "capture/host.h"
#include "opener_marks.h"

#include <sys/types.h>

enum prober_of { PROBER_ALLOCS, PROBER_INUSE, PROBERS };
#define PROBER_FDS 11 /* HOST_MAX_FDS has room for them */

#define PROBERS_ENDING 16
#define PROBER_END_S   10 /* for removing all probes */

struct probers {
	struct prober {
		pid_t pid;  /* 0: none */
		int socket; /* to the child */
		int client; /* the client for which they watch */
	} all[PROBERS];
	/* Children that still remove their probes, or repair; 0: none. */
	pid_t ending[PROBERS_ENDING];
	struct marks *marks;
	pid_t repairer;
	unsigned killed;  /* since breakpoints were last repaired; */
	unsigned repairs; /* those that the repairer knows of */
};

/* Opens the journal of probes. Errors: -ENOMEM */
MUST_CHECK int probers_open(struct probers *ps, const char *state_dir);
/* Removes, in a child, what killed processes may have left at the marks. Does
 * nothing if none was killed, or if such a child already runs. */
void probers_repair(struct probers *ps);

/*
 * Has the kernel load the programs, which takes a while.
 *
 *   Shape    fds: what prober_start() takes
 *   Owns     the descriptors are the caller's
 *   Errors   as allocs_open() and inuse_open()
 */
MUST_CHECK int
prober_load(enum prober_of of, int fds[static PROBER_FDS], size_t *nfds);
/*
 * Starts a child for a client, in place of the last one.
 *
 *   Shape    fds: what prober_load() gave. On return: the descriptor that ends
 *            the child when it is closed, then the maps of outputs, of threads
 *            that interpreters run, of processes and, for memory in use, of
 *            rows
 *   Units    percent of a CPU that the probes may cost each process
 *   Owns     takes fds[], also on failure; those that it returns are the
 *            caller's
 *   Errors   -EAGAIN too many earlier children still remove their probes;
 *            -errno
 */
MUST_CHECK int
prober_start(struct probers *ps, enum prober_of of, int client, int64_t percent,
             int fds[static PROBER_FDS], size_t *nfds);
/* Passes a HOST_PROBE question and its file on to the child. Errors: -ECHILD
 * there is no child; -EINVAL; -EAGAIN it has not read the last ones yet */
MUST_CHECK int
prober_watch(struct probers *ps, const struct host_ask *ask, int file);
/* Ends the children of a client that is gone. */
void prober_leave(struct probers *ps, int client);
void prober_child_ended(struct probers *ps, pid_t pid, int status);
/* Ends all children, and waits until their probes are removed, but no longer
 * than PROBER_END_S: a service manager may kill what is left. */
void prober_done(struct probers *ps);
