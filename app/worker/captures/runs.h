/*
 * A run is one attempt at a job's capture. It writes into one blob, which has
 * no row yet, and ends with one transaction.
 *
 * The analyser parses data of targets, so everything in its messages is
 * checked: lengths, ids, JSON. It can fail captures, but not the worker.
 */
#pragma once

#include "base/conf.h"
#include "naming.h"
#include "store/job.h"
#include "symbolizing.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

#define CHECKPOINT_NS INT64_C(10000000000) /* between checkpoints */
#define RENEW_NS      INT64_C(1000000000)  /* between renewals */
#define HURRY_NS \
	INT64_C(200000000) /* between renewals while in a
                                              hurry */
/* The analyser counts as hung if it has not sent a finished capture by
 * then. */
#define OVERDUE_NS INT64_C(60000000000)
#define TOP_MAX    ((size_t)1 << 20) /* bytes of topFunctions */

struct run {
	struct job job;
	struct job_ref ref;
	struct blob_writer profile;
	struct blob_writer timeline;   /* fd < 0: no timeline */
	struct blob_writer checkpoint; /* fd >= 0: one is being written */
	int64_t deadline_ns, checkpoint_ns;
	double progress;
	int64_t samples, started_ns;
	uint64_t ways; /* as in struct msg_start, unless fetched */
	const char *phase;
	enum job_ending ending; /* requested by a client */
	bool stopping;          /* STOP was sent */
	struct pull *pull;   /* NULL: an engine of the analyser captures it */
	quality_notes notes; /* for its quality report, in addition to the
	                        engine's */
	uint32_t may;        /* enum worker_may; 0: nothing */
	uint64_t stamp;      /* of the processes last sent to the analyser */
	struct followed_left left; /* maximum of each number so far */
	uint32_t late_before;      /* late of struct followed, at the start */
	uint32_t late;             /* late processes since then */
};

struct fetch_answer;
struct fetch_ask;
struct service;
/* Takes an answer of the fetcher that belongs to no run, and its body. */
typedef void
runs_other_fetched(void *arg, const struct fetch_answer *a, int *body);
/* Takes a message of the analyser that belongs to no capture. Descriptors that
 * stay in fds are closed by the caller; a taken one is set to -1. */
typedef void runs_other(void *arg, const void *m, size_t n, int fds[static 2]);

struct runs {
	struct store *store;
	runs_other *other;                 /* NULL: dropped */
	runs_other_fetched *other_fetched; /* NULL: dropped */
	void *other_arg;
	const struct conf *conf;
	int analyser;        /* socket; -1: none */
	int events;          /* socket to the opener, borrowed */
	int fetcher;         /* socket; -1: not needed yet, or dead */
	uint64_t last_fetch; /* id */
	int64_t lease_ms, finish_ns;
	const struct finding *findings; /* the worker's, or NULL */
	int64_t renewed_ns;             /* when leases were last renewed */
	bool hurry;  /* a job may have been cancelled: check soon */
	bool failed; /* a capture failed since the scheduler's last check */
	struct symbolizing symbolizing;
	struct naming naming;
	size_t max, n;
	struct run *items[WORKER_MAX_CAPTURES];
};

void runs_done(struct runs *c);
/*
 * Starts a job's capture.
 *
 *   Shape    ways: the ways to try; may: what the opener may do to these
 *            processes, enum worker_may or 0
 *   Owns     *job is taken, also on failure
 *   Errors   -errno: the job will be taken over. A capture that fails at once
 *            is not an error: its job and the log have the reason
 */
MUST_CHECK int
runs_start(struct runs *c, struct job *job, uint64_t ways, uint32_t may,
           const struct followed *now, int64_t now_ns);
/* Makes sampling runs follow the processes found by the last look. */
void runs_follow(struct runs *c, const struct targets *targets, int64_t now_ns);
/*
 * Starts a capture that is fetched from net/http/pprof pages; there must be a
 * fetcher.
 */
MUST_CHECK int runs_pull(struct runs *c, struct job *job,
                         const struct service *of, int64_t now_ns);
/*
 * Makes a request for a page of net/http/pprof, with a new id.
 *   Errors   as pull_url()
 */
MUST_CHECK int
runs_fetch_ask(struct runs *c, const char *tenant, const char *base,
               uint32_t step, int64_t seconds, struct fetch_ask *out);
/* Returns the capture's error for an enum fetch_error. */
enum capture_error runs_fetch_error(uint32_t e);
/* Takes one message of the fetcher; -EPIPE when it is gone. */
MUST_CHECK int runs_fetched(struct runs *c);
/* Handles the fetcher's death: fails the runs that waited for it. */
void runs_fetcher_gone(struct runs *c);
/* Takes one message of the analyser; -EPIPE when it is gone. */
MUST_CHECK int runs_receive(struct runs *c);
/* Renews leases, notices cancelled jobs, and asks for checkpoints. */
MUST_CHECK int runs_tick(struct runs *c, int64_t now_ns);
/* Handles the analyser's death; blamed is the capture that it was working on,
 * or "". */
void runs_lost(struct runs *c, const char *blamed);
/* Prepares the stop of the worker: short captures return to the queue, others
 * end now. */
void runs_wind_up(struct runs *c);
/* Ends a job that never became a capture. */
MUST_CHECK int run_refuse(struct store *s, const struct job *job,
                          const char *code, const char *text);
