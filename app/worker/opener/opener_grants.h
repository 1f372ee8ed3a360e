/*
 * What the scheduler lets the opener do to which processes: to look at those
 * of captures and windows, and what services allow beyond that.
 *
 * Only the scheduler makes grants, for processes and a time (MSG_MAY). A
 * process is identified by pid and start time, so that a later one with the
 * same pid has no grant.
 */
#pragma once

#include "worker/ipc/messages.h"

#include <stdbool.h>

/* What all captures and windows of a host with some thousand processes to look
 * at take up, and what fifty services with twenty processes each do of every
 * other kind. */
#define GRANTS_MAX  16384
#define GRANTS_HEIR 1024 /* descendants that are remembered */

struct grant {
	uint64_t start_time; /* of the process, ticks since boot */
	uint64_t of;         /* of LOOK: hash of the id; else 0 */
	int64_t until_ns;    /* INT64_MAX: until it is taken back */
	int32_t pid;
	uint32_t what; /* one enum worker_may */
};

/* A process that was seen to descend from another one. */
struct grant_heir {
	uint64_t start_time, of_start_time;
	int32_t pid, of; /* 0: unused */
};

struct grants {
	struct grant rows[GRANTS_MAX]; /* by pid */
	size_t n;
	struct grant_heir heirs[GRANTS_HEIR]; /* by hash of the pid */
};

/* When a process, or a thread, started; 0: there is none. */
uint64_t proc_start_time(int32_t pid);
/* Adds to what is granted, or prolongs it; where there is no room the grant
 * that ends first makes some, and of those without an end the new one is not
 * taken. */
void grants_add(struct grants *g, const struct msg_may *m);
bool grants_has(const struct grants *g, enum worker_may what, int32_t pid,
                uint64_t start_time);
/*
 * Whether a process may be looked at: WORKER_MAY_LOOK is said of it, or of one
 * that it descends from and whose systemd unit is its own, too. A process whose
 * parents have ended still descends from the leader of its session, and from
 * whom it was seen to descend before.
 *   Errors   -EPERM, -ESRCH
 */
MUST_CHECK int grants_look(struct grants *g, int32_t pid);
/* The same of the process that has this thread. */
MUST_CHECK int grants_look_thread(struct grants *g, int32_t tid);
