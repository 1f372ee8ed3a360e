/*
 * Hosts of a fleet, which have a store of their own: how jobs come to them from
 * the centre's store, and how results come back.
 *
 * At the centre a job of such a host is one like any other. The host's worker
 * has a row for it in its own store, of the same id, and agent_job says that it
 * is the centre's, under which attempt. Both may be cut off from each other for
 * any time: the centre then gives the job up as that of a silent worker, and
 * takes the result all the same once it comes, unless another attempt has begun
 * meanwhile.
 */
#pragma once

#include "store/continuous.h"
#include "store/job.h"
#include "store/service.h"
#include "store/worker.h"

#define AGENT_JOBS_MAX 256 /* that a host holds */

/* A job with what a host needs to take it. */
struct agent_job {
	char *session, *tenant, *service, *type, *origin, *labels, *created_by;
	char *host, *state, *error_code;
	int64_t attempt, ordinal, asked_seconds, asked_rate, cancel_requested;
};
struct agent_job_list {
	struct agent_job *items;
	size_t n;
};
#define CLEANUP_AGENT_JOB  CLEANUP(agent_job_done)
#define CLEANUP_AGENT_JOBS CLEANUP(agent_job_list_done)
void agent_job_done(struct agent_job *j);
void agent_job_list_done(struct agent_job_list *l);

/* --- the centre's side ---------------------------------------------------- */

/* Lists a host's running jobs, the oldest first; at most AGENT_JOBS_MAX. */
MUST_CHECK int
agent_running(struct store *s, const char *host, struct agent_job_list *out);
/* Finds a job of that host; -ENOENT. */
MUST_CHECK int agent_find(struct store *s, const char *host,
                          const char *session, struct agent_job *out);
/* Has a job that was queued again run under its attempt, which the host still
 * works on. Returns 1 when it was, 0 when not. */
MUST_CHECK int agent_resume(struct store *s, const char *host,
                            const struct job_ref *j, int64_t lease_ms);

/* When a capture was, counted back from now, since clocks differ. */
struct agent_times {
	int64_t began_ago_ms, ended_ago_ms;
};
/*
 * Ends a host's job as job_finish() does, also one that was given up meanwhile.
 *   Errors   -ESTALE when the attempt no longer counts
 */
MUST_CHECK int
agent_finish(struct store *s, const struct agent_job *j,
             const struct job_end *end, const struct agent_times *times);

/* Says which services of a tenant a host may see: the text differs when one of
 * them does. It is "" while one has just changed, and may change again within
 * the same millisecond. */
#define AGENT_GENERATION 80
MUST_CHECK int
agent_generation(struct store *s, const char *tenant, const char *host,
                 char out[static AGENT_GENERATION]);
/* Counts the workers that are alive, up to most. */
MUST_CHECK int agent_alive(struct store *s, int64_t most, int64_t *out);
/* Makes these the processes that a host sees; those of services that are not
 * there, or of other tenants than these, are left out. */
MUST_CHECK int
agent_processes_put(struct store *s, const char *host, const char *tenants,
                    const struct process_list *now,
                    const struct process_tree_list *trees);

/* --- a host's side -------------------------------------------------------- */

/* A job of the centre's, and how far it is here. */
struct agent_held {
	char *session, *tenant;
	char *status; /* of the session; "": it is gone */
	char *state, *phase, *error_code, *error_message;
	int64_t attempt, dropped, refused, samples;
	double progress;
};
struct agent_held_list {
	struct agent_held *items;
	size_t n;
};
#define CLEANUP_HELD CLEANUP(agent_held_list_done)
void agent_held_list_done(struct agent_held_list *l);

/*
 * Takes a job: it is on disk when this returns 0, and the scheduler runs it. A
 * job that is here already gets the attempt.
 *   Errors   -ENOENT without its service, -EEXIST while another capture of that
 *            service and type runs
 */
MUST_CHECK int
agent_take(struct store *s, const char *host, const struct agent_job *j);
/* Lists the jobs that are held, the oldest first. */
MUST_CHECK int agent_held(struct store *s, struct agent_held_list *out);
/* Says that the centre wants no result of a job, and cancels it. */
MUST_CHECK int
agent_drop(struct store *s, const char *tenant, const char *session);
/* Says that the centre can't store the bytes of a result. */
MUST_CHECK int agent_refuse(struct store *s, const char *session);
/* Ends the holding of a job: the centre has stored its result, or wants none.
 * keep: its session stays here. */
MUST_CHECK int
agent_forget(struct store *s, const struct agent_held *h, bool keep);

struct agent_service {
	char *tenant, *service;
	int64_t made; /* 1: only the centre made it */
};
struct agent_service_list {
	struct agent_service *items;
	size_t n;
};
#define CLEANUP_AGENT_SERVICES CLEANUP(agent_service_list_done)
void agent_service_list_done(struct agent_service_list *l);

/* Makes the centre's services those of this store: adds and replaces services,
 * and removes those that the centre made and has no longer. on[i] is the
 * continuous profiling of the i-th one; without types there is none. */
MUST_CHECK int
agent_services_put(struct store *s, const struct service_list *now,
                   const struct continuous *on);
/* Calls fn with each tenant of these services, until it returns other than 0;
 * returns that, or -errno. */
MUST_CHECK int
agent_tenants(struct store *s, int (*fn)(void *arg, const char *tenant),
              void *arg);
