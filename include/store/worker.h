/*
 * Workers and the processes they see: what the API knows of the hosts.
 */
#pragma once

#include "store/store.h"

struct worker {
	char *host, *boot_id, *version, *capabilities;
	int64_t pid, started_ms, heartbeat_ms, alive_until_ms;
	int64_t alive; /* 1: heard of within its lease */
};
struct worker_list {
	struct worker *items;
	size_t n;
};
#define CLEANUP_WORKERS CLEANUP(worker_list_done)

struct process {
	char *host, *tenant, *service, *boot_id, *argv0, *cmdline;
	int64_t ordinal, pid, start_time, seen_ms;
};
struct process_list {
	struct process *items;
	size_t n;
};
#define CLEANUP_PROCESSES CLEANUP(process_list_done)

/* Whom captures of a service are of, on one host, and how many are not. */
struct process_tree {
	char *host, *tenant, *service;
	int64_t followed; /* processes: what matches, with its descendants */
	int64_t other_unit, out_of_scope; /* descendants that are left out */
	int64_t too_many; /* processes that are, for there are others */
	int64_t refused;  /* match, and lie outside of the tenant's scope */
};
struct process_tree_list {
	struct process_tree *items;
	size_t n;
};
#define CLEANUP_TREES CLEANUP(process_tree_list_done)

void process_tree_list_done(struct process_tree_list *l);
void worker_list_done(struct worker_list *l);
void process_list_done(struct process_list *l);

MUST_CHECK int worker_list(struct store *s, struct worker_list *out);
/*
 * The host whose worker will do a service's work: named, or the only one.
 *
 *   Shape    service_host "" for a service that names none
 *   Owns     *out is the caller's; free() it
 *   Errors   -EHOSTDOWN when no such worker lives, -ENOTUNIQ when several do
 */
MUST_CHECK int
worker_for(struct store *s, const char *service_host, char **out);
/*
 * Asks a host's worker to look at the processes anew.
 *   Units    *out_ms: a look that began then or later answers the question
 *   Errors   -ENOENT when there is no such worker
 */
MUST_CHECK int
worker_look_ask(struct store *s, const char *host, int64_t *out_ms);
/* When a look was last asked for, and when the last one began; 0: never. */
MUST_CHECK int worker_look(struct store *s, const char *host,
                           int64_t *out_wanted_ms, int64_t *out_looked_ms);
/* What its host's live worker matches now, by ordinal. */
MUST_CHECK int process_list(struct store *s, const char *tenant,
                            const char *service, struct process_list *out);

/* The same of their descendants, a row per host. */
MUST_CHECK int
process_tree_list(struct store *s, const char *tenant, const char *service,
                  struct process_tree_list *out);

/* --- the worker's side --------------------------------------------------- */

/* Says that this worker starts, or, with the same pid, still lives. */
MUST_CHECK int
worker_heartbeat(struct store *s, const struct worker *w, int64_t lease_ms);
/* Says that it stops: not alive from now on, and its processes unseen. */
MUST_CHECK int worker_stop(struct store *s, const char *host);
/* Says that the rows of process are those of a look that began then. */
MUST_CHECK int worker_looked(struct store *s, const char *host, int64_t at_ms);
/* Every row of a host, by tenant, service and ordinal. */
MUST_CHECK int
process_list_host(struct store *s, const char *host, struct process_list *out);
MUST_CHECK int process_put(struct store *s, const struct process *p);
MUST_CHECK int process_remove(struct store *s, const struct process *p);
/* Errors: -EEXIST when there is no such service any more. */
MUST_CHECK int process_tree_put(struct store *s, const struct process_tree *t);
/* Forgets those of a host: a worker that starts knows nothing as yet. */
MUST_CHECK int process_tree_forget(struct store *s, const char *host);
