/*
 * Services and their processes: each matched process has an ordinal, which
 * it keeps until it exits. Free ordinals are filled from below, in order of
 * start time, and so are the first.
 *
 * What descends from a process that has an ordinal is captured with it, as far
 * as it matches neither and so has no ordinal of its own: a server by its pid
 * file, say, has its work done by children. A descendant is left out where it
 * is in another unit than the process that matches, as everything is that
 * systemd, sshd or a cron daemon starts for others, or outside of the tenant's
 * scope. A process without a unit, outside of systemd, is in the same unit as
 * any other that has none.
 */
#pragma once

#include "capture/snapshot.h"
#include "match.h"
#include "store/store.h"
#include "worker/ipc/messages.h"

#define TARGET_SLOTS 256 /* processes of one service */

struct slot {
	int32_t pid; /* 0: free */
	uint64_t start_time;
	uint64_t text; /* hash of the command line, shown with it */
};

/* A process of a service's tree, and why it is captured or is not. */
struct member {
	int32_t pid;
	int16_t ordinal; /* its own, or that of whom it descends from */
	enum { MEMBER_FOLLOWED, MEMBER_OTHER_UNIT, MEMBER_OUT_OF_SCOPE } how;
};

struct target {
	char *tenant, *service;
	int64_t created_ms;  /* of the service */
	bool valid;          /* false: its match makes no sense */
	enum snapshot_of of; /* as its kind says */
	struct match match;
	struct slot now[TARGET_SLOTS];
	struct slot shown[TARGET_SLOTS]; /* as the database has it */
	struct member *members; /* those with an ordinal first, by it */
	size_t nmembers;
	uint32_t unslotted; /* match, and are neither in a slot nor a member */
	uint32_t refused;   /* match, and lie outside of the tenant's scope */
	uint32_t late;  /* so far: matched, and were not followed before that */
	uint64_t stamp; /* changes with all of these */
	uint64_t stamp_shown; /* the one that the database has */
	uint32_t refused_shown;
	int64_t shown_ns; /* when that was written */
};

/* How many processes are not captured with a service. */
struct followed_left {
	uint32_t other_unit, out_of_scope; /* descendants */
	uint32_t too_many; /* beyond TARGET_SLOTS or WORKER_MAX_PIDS */
	uint32_t refused;  /* as in struct target */
};

/* Whom a capture of a service, or of one of its ordinals, is of. */
struct followed {
	uint64_t stamp; /* changes with the rest; 0: no such service */
	struct followed_left left;
	uint32_t late; /* as in struct target; 0 for a single ordinal */
	uint32_t n;
	int32_t pids[WORKER_MAX_PIDS]; /* those that match first */
};

struct targets {
	const char *host, *boot_id;
	struct match_reader reader;
	struct target *items; /* by tenant and service */
	uint64_t stamp;       /* changes with the services */
	size_t n;
	bool waits; /* something is not to be published as yet */
};

void targets_done(struct targets *t);
struct target *
targets_find(const struct targets *t, const char *tenant, const char *service);
/* Reads the services again; those that stay keep their processes. */
MUST_CHECK int targets_load(struct targets *t, struct store *s);
/* Takes up the ordinals that this host's last worker gave. */
MUST_CHECK int targets_restore(struct targets *t, struct store *s);
/*
 * Finds out who has which ordinal now, and who descends from these.
 *   Errors   -ENOMEM; members stay as they were
 */
MUST_CHECK int targets_match(struct targets *t, const struct conf *conf,
                             const struct proc_table *procs);
/*
 * Writes what changed since the last time. How many processes are captured may
 * change with each look, and is written every TARGETS_SHOW_NS: t->waits then.
 */
#define TARGETS_SHOW_NS INT64_C(10000000000)
MUST_CHECK int targets_publish(struct targets *t, struct store *s,
                               const struct proc_table *procs, int64_t now_ns);
/* Whose stacks a snapshot of it is to have. */
enum snapshot_of
targets_of(const struct targets *t, const char *tenant, const char *service);
/* Of a service that there is not: of nobody. */
void
targets_followed(const struct targets *t, const char *tenant,
                 const char *service, int64_t ordinal, struct followed *out);
/*
 * Processes of a service's tree that are not to be in such a capture, which
 * may have begun to follow them when they were forked.
 *
 *   Shape    *at: 0 at first, then where the next call goes on
 *            writes up to max; tells how many, 0: there are no more
 */
size_t targets_strangers(const struct targets *t, const char *tenant,
                         const char *service, int64_t ordinal, size_t *at,
                         int32_t *out, size_t max);
