/*
 * Services and their processes: each matched process has an ordinal, which it
 * keeps until it exits. Ordinals are assigned from the lowest free one, in
 * order of start time.
 *
 * Descendants of a process with an ordinal are captured with it, unless they
 * match, too, and have their own ordinal: a server that is matched by its pid
 * file, for instance, works in children. A descendant is left out if its unit
 * is not that of the matching process, as with everything that systemd, sshd or
 * a cron daemon starts for others, or if it is outside of the tenant's scope.
 * All processes without a unit, outside of systemd, count as one unit.
 *
 * A service has those labels of its processes (proc_label()) on which all
 * matching ones agree. It keeps them while no process runs: a restart of the
 * same image changes nothing, one of a new image does.
 *
 * A match of every program has one ordinal, of the oldest process, with which
 * all others are captured.
 */
#pragma once

#include "base/json.h"
#include "base/title.h"
#include "match.h"
#include "store/store.h"
#include "worker/ipc/messages.h"

#define TARGET_SLOTS 256 /* processes of one service */

struct slot {
	int32_t pid; /* 0: free */
	uint64_t start_time;
	uint64_t text; /* hash of the command line that is shown */
};

/* A process of a service's tree, and whether it is captured. */
struct member {
	uint64_t start_time;
	int32_t pid;
	int16_t ordinal; /* its own, or its ancestor's */
	enum { MEMBER_FOLLOWED, MEMBER_OTHER_UNIT, MEMBER_OUT_OF_SCOPE } how;
};

struct target {
	char *tenant, *service;
	int64_t created_ms; /* of the service */
	bool valid;         /* false: the match is malformed */
	struct match match;
	struct slot now[TARGET_SLOTS];
	struct slot shown[TARGET_SLOTS]; /* as in the database */
	json_t *labels;         /* of its processes; NULL: not known yet */
	json_t *start_labels;   /* those that differ at each start */
	struct member *members; /* those with an ordinal first, in its order */
	size_t nmembers;
	uint32_t unslotted;   /* match, but have no slot and are not members */
	uint32_t refused;     /* match, but are outside of the tenant's scope */
	uint32_t late;        /* so far: not followed before they matched */
	bool whole_scope;     /* any program is within the tenant's scope */
	uint64_t stamp;       /* changes with all of these */
	uint64_t stamp_shown; /* stamp of what the database has */
	uint32_t refused_shown;
	int64_t shown_ns; /* when the state was last published */
};

/* Numbers of processes that are not captured with a service. */
struct followed_left {
	uint32_t other_unit, out_of_scope; /* descendants */
	uint32_t too_many; /* beyond TARGET_SLOTS or WORKER_MAX_PIDS */
	uint32_t refused;  /* as in struct target */
};

/* The processes of a capture of a service, or of one of its ordinals. */
struct followed {
	uint64_t stamp; /* changes with the rest; 0: no such service */
	struct followed_left left;
	uint32_t late; /* as in struct target; 0 for a single ordinal */
	enum titles titles;
	uint32_t n;
	int32_t pids[WORKER_MAX_PIDS];    /* matching ones first */
	uint64_t starts[WORKER_MAX_PIDS]; /* when each started */
};

struct targets {
	const char *host, *boot_id;
	struct match_reader reader;
	struct target *items; /* by tenant and service */
	uint64_t stamp;       /* changes when services do */
	size_t n;
	int64_t checked_ns; /* when the store's rows were last counted */
	bool relabelled;    /* labels of containers changed */
	bool waits;         /* a change waits to be published */
};

void targets_done(struct targets *t);
struct target *
targets_find(const struct targets *t, const char *tenant, const char *service);
/* Reads the services again; those that are unchanged keep their processes. */
MUST_CHECK int targets_load(struct targets *t, struct store *s);
/* Restores the ordinals that the last worker of this host assigned. */
MUST_CHECK int targets_restore(struct targets *t, struct store *s);
/*
 * Assigns ordinals to processes, and finds their descendants.
 *   Errors   -ENOMEM; members are unchanged
 */
MUST_CHECK int targets_match(struct targets *t, const struct conf *conf,
                             const struct proc_table *procs);
/*
 * Publishes changes since the last time. The numbers of captured processes may
 * change with each look, and are published at most every TARGETS_SHOW_NS;
 * t->waits is set meanwhile.
 */
#define TARGETS_SHOW_NS  INT64_C(10000000000)
#define TARGETS_CHECK_NS INT64_C(60000000000)
MUST_CHECK int targets_publish(struct targets *t, struct store *s,
                               const struct proc_table *procs, int64_t now_ns);
/* Lists the processes of a capture; an unknown service has none. */
void
targets_followed(const struct targets *t, const char *tenant,
                 const char *service, int64_t ordinal, struct followed *out);
/*
 * Lists processes of a service's tree that do not belong to a capture, which
 * may have begun to follow them when they were forked.
 *
 *   Shape    *at is 0 at first, and then where the next call continues;
 *            writes up to max, and returns their number, 0 at the end
 */
size_t targets_strangers(const struct targets *t, const char *tenant,
                         const char *service, int64_t ordinal, size_t *at,
                         int32_t *out, size_t max);
