/*
 * Workers, and the processes that they see on their hosts.
 */
#pragma once

#include "store/store.h"

#include <limits.h>

struct worker {
	char *host, *boot_id, *version;
	/* An object in JSON that the host's scheduler writes (beat()) and that
	 * is shown as it is. */
	char *capabilities;
	int64_t pid, started_ms, heartbeat_ms, alive_until_ms;
	int64_t clock_ms; /* the host's clock less the store's */
	int64_t told_ms;  /* when its host reported the next fields; 0: never,
	                     and they are 0 */
	int64_t waiting_windows, waiting_bytes; /* minutes that the centre does
	                                           not have yet */
	int64_t waiting_results; /* results of captures that the centre does not
	                            have yet */
	int64_t waiting_since_ms; /* start of the oldest window; 0: none */
	int64_t alive;            /* 1: it reported within its lease */
	int64_t joined;           /* 1: its host has its own store and key */
	const char *tenants; /* in a heartbeat: the tenants whose captures it
	                        takes, separated by spaces; NULL: all. Not
	                        read from rows */
};
struct worker_list {
	struct worker *items;
	size_t n;
};
#define CLEANUP_WORKERS CLEANUP(worker_list_done)

struct worker_process {
	char *host, *tenant, *service, *boot_id, *argv0, *cmdline;
	int64_t ordinal, pid, start_time, seen_ms;
};
struct process_list {
	struct worker_process *items;
	size_t n;
};
#define CLEANUP_PROCESSES CLEANUP(process_list_done)

/* The processes that captures of a service include on one host, and the numbers
 * of those left out. */
struct process_tree {
	char *host, *tenant, *service;
	int64_t followed; /* number of matching processes and their
	                     descendants */
	int64_t other_unit, out_of_scope; /* descendants left out for that
	                                     reason */
	int64_t too_many; /* processes left out because of the limit */
	int64_t refused;  /* matching processes outside of the tenant's scope */
};
struct process_tree_list {
	struct process_tree *items;
	size_t n;
};
#define CLEANUP_TREES CLEANUP(process_tree_list_done)

/* A host that may profile a service. */
struct serving {
	char *host;
	int64_t runs; /* 1: the service was seen running there */
};
struct serving_list {
	struct serving *items;
	size_t n;
};
#define CLEANUP_SERVING CLEANUP(serving_list_done)

void serving_list_done(struct serving_list *l);
void process_tree_list_done(struct process_tree_list *l);
void worker_list_done(struct worker_list *l);
void process_list_done(struct process_list *l);

/* Lists workers by host: those that share this store, and the fleet's hosts of
 * a tenant, or all if tenant is "". */
MUST_CHECK int
worker_list(struct store *s, const char *tenant, struct worker_list *out);
/* Lists such workers whose host's clock does not agree with the store's. */
MUST_CHECK int
worker_list_off(struct store *s, const char *tenant, struct worker_list *out);
/*
 * Lists hosts whose worker is alive and may profile a tenant's service: hosts
 * where it runs first, then by name; at most max.
 *
 *   Shape    host is the only one that may be listed; "": any. A host runs the
 *            service if a process of it there has that ordinal; -1: any
 */
MUST_CHECK int
worker_serving(struct store *s, const char *tenant, const char *service,
               int64_t ordinal, const char *host, int64_t max,
               struct serving_list *out);
/*
 * Finds the host whose worker does what only one worker may, such as asking an
 * endpoint: the named host, else the first where the service runs, else the
 * first.
 *
 *   Shape    host is "" for a service that names none
 *   Owns     *out is the caller's; free() it
 *   Errors   -EHOSTDOWN when no such worker is alive
 */
MUST_CHECK int worker_for(struct store *s, const char *tenant,
                          const char *service, const char *host, char **out);
/*
 * Asks a host's worker to look for processes again.
 *   Units    *out_ms: a look that began at or after this time is the answer
 *   Errors   -ENOENT when there is no such worker
 */
MUST_CHECK int
worker_look_ask(struct store *s, const char *host, int64_t *out_ms);
/* Returns when a look was last requested, and when the last one began; 0:
 * never. */
MUST_CHECK int worker_look(struct store *s, const char *host,
                           int64_t *out_wanted_ms, int64_t *out_looked_ms);
/* Lists the processes of a service that its host's live worker matches now, by
 * ordinal. */
MUST_CHECK int process_list(struct store *s, const char *tenant,
                            const char *service, struct process_list *out);

/* Lists the numbers of descendants, a row per host. */
MUST_CHECK int
process_tree_list(struct store *s, const char *tenant, const char *service,
                  struct process_tree_list *out);

/* --- the worker's side --------------------------------------------------- */

/*
 * Gives the file that the worker of this host has locked while it runs. Hosts
 * may share a directory.
 *   Errors   -ENAMETOOLONG, those of conf_host()
 */
MUST_CHECK int
worker_lock_path(const struct conf *conf, char out[static PATH_MAX]);
/* Records that this worker starts or, with the same pid, is still alive.
 *   Errors   -EEXIST when w has tenants, and a worker that shares this store
 *            has the name */
MUST_CHECK int
worker_heartbeat(struct store *s, const struct worker *w, int64_t lease_ms);
/* Finds out by how much the clock of this host is ahead of the store's. */
MUST_CHECK int worker_clock(struct store *s, int64_t *out_ahead_ms);
/*
 * Finds the tenants that a host's worker serves, "*" for all of them, and the
 * boot of its kernel if the worker is alive, else "".
 *   Owns     *out and *out_boot are the caller's; out_boot may be NULL
 *   Errors   -ENOENT when there is no such worker
 */
MUST_CHECK int
worker_tenants(struct store *s, const char *host, char **out, char **out_boot);
/* Frees the name of a worker, which another host may then take. -ENOENT when
 * there is no such worker, or it is alive. */
MUST_CHECK int worker_forget(struct store *s, const char *host);
/* Removes hosts of a fleet that have been silent for max_age_ms. Returns their
 * number. */
MUST_CHECK int worker_prune(struct store *s, int64_t max_age_ms);
/* Records that the worker stops: its host is no longer alive, and its processes
 * are removed. */
MUST_CHECK int worker_stop(struct store *s, const char *host);
/* Records that the rows of process come from a look that began at at_ms. */
MUST_CHECK int worker_looked(struct store *s, const char *host, int64_t at_ms);
/* Lists all rows of a host, by tenant, service and ordinal. */
MUST_CHECK int
process_list_host(struct store *s, const char *host, struct process_list *out);
/* Lists the rows of a host and of tenants, which are separated by spaces. */
MUST_CHECK int
process_list_tenants(struct store *s, const char *host, const char *tenants,
                     struct process_list *out);
/* List a host's rows of services that are the centre's (agent.h). */
MUST_CHECK int
agent_processes(struct store *s, const char *host, struct process_list *out);
MUST_CHECK int
agent_trees(struct store *s, const char *host, struct process_tree_list *out);
MUST_CHECK int process_put(struct store *s, const struct worker_process *p);
MUST_CHECK int process_remove(struct store *s, const struct worker_process *p);
/* Stores a row; -EEXIST when the service no longer exists. */
MUST_CHECK int process_tree_put(struct store *s, const struct process_tree *t);
/* Removes a host's rows, since its worker is starting. */
MUST_CHECK int process_tree_forget(struct store *s, const char *host);
