/*
 * Hosts of a fleet, each with its own store: how jobs reach them from the
 * centre's store, and how results come back.
 *
 * At the centre, a job of such a host is a job like any other. The host's store
 * has a job of the same id, and a row of agent_job that names the centre's
 * attempt. Host and centre may be disconnected for any time: the centre then
 * gives the job up, as for a silent worker, but still accepts the result when
 * it arrives, unless another attempt has begun meanwhile.
 */
#pragma once

#include "store/continuous.h"
#include "store/job.h"
#include "store/service.h"
#include "store/worker.h"

#define AGENT_JOBS_MAX 256 /* held by a host at once */

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
/* Resumes the attempt of a job that was queued again, since the host still
 * works on it. Returns 1 if the job was resumed, else 0. */
MUST_CHECK int agent_resume(struct store *s, const char *host,
                            const struct job_ref *j, int64_t lease_ms);

/* When a capture began and ended, counted back from now, since clocks
 * differ. */
struct agent_times {
	int64_t began_ago_ms, ended_ago_ms;
};
/*
 * Ends a host's job as job_finish() does, even if it was given up meanwhile.
 *   Errors   -ESTALE when the attempt no longer counts
 */
MUST_CHECK int
agent_finish(struct store *s, const struct agent_job *j,
             const struct job_end *end, const struct agent_times *times);

/* Writes a text that changes whenever a service of the tenant changes that the
 * host may see. The text is "" just after a change, since another may follow
 * within the same millisecond. */
#define AGENT_GENERATION 80
MUST_CHECK int
agent_generation(struct store *s, const char *tenant, const char *host,
                 char out[static AGENT_GENERATION]);
/* Counts the workers that are alive, up to most. */
MUST_CHECK int agent_alive(struct store *s, int64_t most, int64_t *out);
/* Replaces the processes that a host sees of the given tenants. Leaves out
 * processes of unknown services and of other tenants. Sorts now. Commits in
 * parts: what was written before a failure stays. */
MUST_CHECK int
agent_processes_put(struct store *s, const char *host, const char *tenants,
                    struct process_list *now,
                    const struct process_tree_list *trees);

/* --- a host's side -------------------------------------------------------- */

/* A job of the centre, and its state on this host. */
struct agent_held {
	char *session, *tenant;
	char *status; /* of the session; "": the session is gone */
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
 * Takes a job, which is on disk when this returns 0; the scheduler then runs
 * it. A job that the host has already gets the new attempt.
 *   Errors   -ENOENT without its service, -EEXIST while another capture of that
 *            service and type runs
 */
MUST_CHECK int
agent_take(struct store *s, const char *host, const struct agent_job *j);
/* Lists the jobs that are held, the oldest first. */
MUST_CHECK int agent_held(struct store *s, struct agent_held_list *out);
/* Records that the centre wants no result of a job, and cancels the job. */
MUST_CHECK int
agent_drop(struct store *s, const char *tenant, const char *session);
/* Records that the centre cannot store the bytes of a result. */
MUST_CHECK int agent_refuse(struct store *s, const char *session);
/* Forgets a job whose result the centre has stored or does not want. keep: its
 * session stays on this host. */
MUST_CHECK int
agent_forget(struct store *s, const struct agent_held *h, bool keep);

struct agent_service {
	char *tenant, *service;
	int64_t made; /* 1: created by the centre alone */
};
struct agent_service_list {
	struct agent_service *items;
	size_t n;
};
#define CLEANUP_AGENT_SERVICES CLEANUP(agent_service_list_done)
void agent_service_list_done(struct agent_service_list *l);

/* Copies the centre's services into this store: adds and replaces services, and
 * removes services that the centre created and no longer has. on[i] is the
 * continuous profiling of service i; without types it has none. */
MUST_CHECK int
agent_services_put(struct store *s, const struct service_list *now,
                   const struct continuous *on);
/* Calls fn with each tenant of these services, until it returns other than 0;
 * returns that, or -errno. */
MUST_CHECK int
agent_tenants(struct store *s, int (*fn)(void *arg, const char *tenant),
              void *arg);
