/*
 * Jobs: captures that wait for, or run on, a host's worker.
 *
 * A job is pinned to a host, and a host has one worker. Claiming raises the
 * attempt; every write of a worker names the attempt it belongs to and fails
 * with -ESTALE when the job was given up, cancelled or deleted since. Leases
 * are kept by the database's clock.
 *
 * A worker that starts takes over what its predecessor ran: captures of up
 * to JOB_RERUN_SECONDS are queued again; of longer ones, and of those that
 * killed JOB_ATTEMPTS_MAX workers, what a checkpoint saved is kept and the
 * job fails as WorkerDied.
 */
#pragma once

#include "store/blob.h"
#include "store/session.h"

#define JOB_RERUN_SECONDS 10
#define JOB_ATTEMPTS_MAX  3

/* One attempt at a job: what every write of a worker names. */
struct job_ref {
	char session[ID_MAX];
	int64_t attempt;
};

struct job {
	char *session, *tenant, *service, *type;
	int64_t attempt, ordinal, asked_seconds, asked_rate, cancel_requested;
};
#define CLEANUP_JOB CLEANUP(job_done)

struct job_end {
	const char *state; /* "done", "failed" or "cancelled" */
	const char *error_code, *error_message; /* "" when done */
	const struct session_result *result;    /* NULL: as it was */
	const struct blob *blob;                /* NULL: as it was */
	const struct blob *timeline;            /* NULL: it has none */
};

/* How far a capture is. */
struct job_state {
	double progress; /* 0..1 */
	const char *phase;
	int64_t samples;
};

void job_done(struct job *j);
struct job_ref job_ref(const struct job *j);

/*
 * Accepts a capture: it is on disk when this returns 0.
 *
 *   Errors   -EEXIST when one of that service and type runs (a samply run:
 *            one of that service and ordinal), whose id is then in out;
 *            -ENOENT when there is no such service
 */
MUST_CHECK int job_enqueue(struct store *s, const struct session_ask *ask,
                           const char *host, char out[static ID_MAX]);
/*
 * Cancels: one that waits ends at once, one that runs when its worker sees.
 *   Errors   -ENOENT, -EALREADY when it has ended
 */
MUST_CHECK int job_cancel(struct store *s, const char *tenant, const char *id);

/* --- the worker's side --------------------------------------------------- */

/* The oldest that waits for host, now running; -ENOENT when none does. */
MUST_CHECK int
job_claim(struct store *s, const char *host, int64_t lease_ms, struct job *out);
/* Renews the lease; *out_cancel is 1 when somebody asked to stop it. */
MUST_CHECK int
job_progress(struct store *s, const struct job_ref *j, int64_t lease_ms,
             const struct job_state *now, int64_t *out_cancel);
/* Keeps what a running capture has so far, in place of what was kept. */
MUST_CHECK int
job_checkpoint(struct store *s, const struct job_ref *j,
               const struct session_result *result, const struct blob *blob);
/* Ends it: result, blob and state in one transaction. */
MUST_CHECK int
job_finish(struct store *s, const struct job_ref *j, const struct job_end *end);
/* Puts it back in the queue, for a worker that stops. */
MUST_CHECK int job_requeue(struct store *s, const struct job_ref *j);
/* What becomes of a job that can't go on: run again, kept in part, or
 * cancelled, as said above. */
MUST_CHECK int job_abandon(struct store *s, const struct job *j);
/* For a worker that starts; the number of jobs it found running. */
MUST_CHECK int job_take_over(struct store *s, const char *host);
/* The same for jobs of any host whose lease ran out grace_ms ago. */
MUST_CHECK int job_expire(struct store *s, int64_t grace_ms);
/* Waiting and running, for metrics. */
MUST_CHECK int
job_counts(struct store *s, int64_t *out_queued, int64_t *out_running);
