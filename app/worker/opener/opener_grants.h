/*
 * Grants: the opener may read only the processes of captures and windows, and
 * may do more to a process only if its service allows it.
 *
 * Only the scheduler makes grants, for some processes and a limited time
 * (MSG_MAY). A process is identified by pid and start time, so that a later
 * process with the same pid has no grant.
 */
#pragma once

#include "worker/ipc/messages.h"

#include <stdbool.h>

/*
 * Room for all captures and windows of a host with a few thousand processes,
 * and for each other right to fifty services with twenty processes each.
 */
#define GRANTS_MAX  16384
#define GRANTS_HEIR 1024 /* descendants that are remembered */

struct grant {
	uint64_t start_time; /* of the process, ticks since boot */
	uint64_t of;         /* for LOOK: hash of the id; else 0 */
	int64_t until_ns;    /* INT64_MAX: until it is revoked */
	int32_t pid;
	uint32_t what; /* one enum worker_may */
};

/* A process that was found to descend from another process. */
struct grant_heir {
	uint64_t start_time, of_start_time;
	int32_t pid, of; /* 0: unused */
};

struct grants {
	struct grant rows[GRANTS_MAX]; /* by pid */
	size_t n;
	struct grant_heir heirs[GRANTS_HEIR]; /* by hash of the pid */
};

/* Returns the start time of a process or a thread; 0 if there is none. */
uint64_t proc_start_time(int32_t pid);
/* Adds or extends grants. If there is no room, a new grant replaces the one
 * that ends first; if none has an end, the new one is dropped. */
void grants_add(struct grants *g, const struct msg_may *m);
bool grants_has(const struct grants *g, enum worker_may what, int32_t pid,
                uint64_t start_time);
/*
 * Checks that a process may be read: WORKER_MAY_LOOK was granted for it, or for
 * an ancestor in the same systemd unit. A process whose parents have ended
 * still descends from the leader of its session, and from ancestors that were
 * found earlier.
 *   Errors   -EPERM; -ESRCH it is gone, and its pid may be another's
 */
MUST_CHECK int grants_look(struct grants *g, int32_t pid);
/* Checks that the process of a thread may be read, like grants_look(). */
MUST_CHECK int grants_look_thread(struct grants *g, int32_t tid);
