/*
 * Jobs: captures that are queued for, or run on, a host's worker.
 *
 * A job is pinned to a host, and a host has one worker. Claiming raises the
 * attempt; every write of a worker names the attempt it belongs to and fails
 * with -ESTALE if the job was given up, cancelled or deleted since. Leases use
 * the database's clock.
 *
 * A worker that starts takes over what its predecessor ran: captures of up to
 * JOB_RERUN_SECONDS are queued again; longer ones, and those during which
 * JOB_ATTEMPTS_MAX workers died, fail as WorkerDied, and the profile of their
 * last checkpoint is kept. A queued job fails as WorkerDied when its host has
 * had no live worker for JOB_STRANDED_MS: the capture would show another time
 * than the one that was requested.
 */
#pragma once

#include "store/blob.h"
#include "store/session.h"

#define JOB_RERUN_SECONDS 10
#define JOB_ATTEMPTS_MAX  3
#define JOB_STRANDED_MS   120000

/* One attempt at a job; every write of a worker names it. */
struct job_ref {
	char session[ID_MAX];
	int64_t attempt;
};

/* How a client has asked a running job to end. */
enum job_ending {
	JOB_RUNS_ON,
	JOB_CANCEL,
	JOB_COMPLETE, /* as if its time were over */
};

struct job {
	char *session, *tenant, *service, *type;
	int64_t attempt, ordinal, asked_seconds, asked_rate, cancel_requested;
};
#define CLEANUP_JOB CLEANUP(job_done)

struct job_end {
	const char *state; /* "done", "failed" or "cancelled" */
	const char *error_code, *error_message; /* "" when done */
	const struct session_result *result;    /* NULL: keep the stored
	                                           result */
	const struct blob *blob;                /* NULL: keep the stored blob */
	const struct blob *timeline;            /* NULL: no timeline */
	const struct blob *listing;             /* NULL: no listing */
};

/* The progress of a capture. */
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
 *   Errors   -EEXIST if a capture of that service and type runs (for samply: of
 *            that service and ordinal); out then has its id; -ENOENT when there
 *            is no such service
 */
MUST_CHECK int job_enqueue(struct store *s, const struct session_ask *ask,
                           const char *host, char out[static ID_MAX]);
/*
 * Cancels a job: a queued one ends at once, a running one when its worker sees
 * the request.
 *   Errors   -ENOENT, -EALREADY when the job has ended
 */
MUST_CHECK int job_cancel(struct store *s, const char *tenant, const char *id);
/* As job_cancel(), but a running job ends as if its time were over, unless it
 * is being cancelled. */
MUST_CHECK int
job_complete(struct store *s, const char *tenant, const char *id);

/* --- the worker's side --------------------------------------------------- */

/*
 * Claims a job that is queued for a host with room for this many more captures:
 * the oldest of the tenant with the fewest captures there. Up to half of the
 * places are kept for tenants that have processes there, but no capture.
 *   Errors   -ENOENT when there is none
 */
MUST_CHECK int job_claim(struct store *s, const char *host, int64_t lease_ms,
                         int64_t room, struct job *out);
/* Renews the lease; *out_ending is an enum job_ending. */
MUST_CHECK int
job_progress(struct store *s, const struct job_ref *j, int64_t lease_ms,
             const struct job_state *now, int64_t *out_ending);
/* Stores a running capture's profile so far, and replaces an earlier one. */
MUST_CHECK int
job_checkpoint(struct store *s, const struct job_ref *j,
               const struct session_result *result, const struct blob *blob);
/* Ends a job: stores result, blob and state in one transaction. */
MUST_CHECK int
job_finish(struct store *s, const struct job_ref *j, const struct job_end *end);
/* Puts a job back in the queue, since its worker is stopping. */
MUST_CHECK int job_requeue(struct store *s, const struct job_ref *j);
/* Ends an attempt that cannot continue: the job is queued again, or fails and
 * keeps its checkpoint, or is cancelled, as described above. */
MUST_CHECK int job_abandon(struct store *s, const struct job *j);
/* Takes over the jobs that an earlier worker of host left running. Returns
 * their number. */
MUST_CHECK int job_take_over(struct store *s, const char *host);
/* Takes over running jobs of any host whose lease expired grace_ms ago, and
 * ends queued jobs of hosts without a live worker. Returns their number. */
MUST_CHECK int job_expire(struct store *s, int64_t grace_ms);

/* A process's view of the database's clock, by which leases run. */
struct lease_clock {
	int64_t offset_ms; /* from the monotonic to the database's clock */
	int64_t from_ns;   /* monotonic time from which expired leases count */
};

/*
 * Returns 1 if expired leases count now, or 0. After this process started or
 * the database's clock was set, every lease may seem to have expired: leases
 * then do not count for wait_ms, in which workers renew theirs.
 */
MUST_CHECK int lease_clock_check(struct lease_clock *l, struct store *s,
                                 int64_t wait_ms, int64_t now_ns);
/* Counts queued and running jobs, for metrics. */
MUST_CHECK int
job_counts(struct store *s, int64_t *out_queued, int64_t *out_running);
