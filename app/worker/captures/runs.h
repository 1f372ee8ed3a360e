/*
 * Runs: each is an attempt at a job's capture, writes into one blob that is
 * not named yet, and ends with one transaction.
 *
 * The analyser that runs them reads what targets wrote, so everything it
 * says is checked: lengths, ids, JSON. It can fail captures, not the worker.
 */
#pragma once

#include "base/conf.h"
#include "capture/snapshot.h"
#include "store/job.h"
#include "symbolizing.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

#define CHECKPOINT_NS INT64_C(10000000000) /* between two of one capture */
#define RENEW_NS      INT64_C(1000000000)  /* between two of one lease */
#define HURRY_NS      INT64_C(200000000)   /* the same, when told to hurry */
/* Beyond a capture's own time and its finisher's: the analyser hangs. */
#define OVERDUE_NS INT64_C(60000000000)
#define TOP_MAX    ((size_t)1 << 20) /* bytes of topFunctions */

struct run {
	struct job job;
	struct job_ref ref;
	struct blob_writer profile;
	struct blob_writer timeline;   /* fd < 0: it keeps none */
	struct blob_writer checkpoint; /* fd >= 0: one is under way */
	int64_t deadline_ns, checkpoint_ns;
	double progress;
	int64_t samples, started_ns;
	uint32_t kind; /* enum worker_kind, unless it is pulled */
	const char *phase;
	bool cancelled;    /* on request: what there is is kept */
	bool stopping;     /* STOP was sent */
	struct pull *pull; /* NULL: an engine of the analyser takes it */
	uint32_t may;      /* enum worker_may; 0: nothing */
	uint64_t stamp;    /* of whom the analyser was told last */
	struct followed_left left; /* the most that there were of each */
	uint32_t late_before;      /* of struct followed, when it began */
	uint32_t late;             /* since then */
};

struct fetch_answer;
struct fetch_ask;
struct service;
/* Takes an answer of the fetcher that is about no capture, and its body. */
typedef void
runs_other_fetched(void *arg, const struct fetch_answer *a, int *body);
/* Takes a message of the analyser that is about no capture; closes none of
 * the descriptors that it leaves in fds, -1 where there is none. */
typedef void runs_other(void *arg, const void *m, size_t n, int fds[static 2]);

struct runs {
	struct store *store;
	runs_other *other;                 /* NULL: dropped */
	runs_other_fetched *other_fetched; /* NULL: dropped */
	void *other_arg;
	const struct conf *conf;
	int analyser;        /* socket; -1: none yet */
	int events;          /* to the opener, borrowed */
	int fetcher;         /* socket; -1: none is wanted yet, or it died */
	uint64_t last_fetch; /* id */
	int64_t lease_ms, finish_ns;
	const struct finding *findings; /* the worker's, or NULL */
	int64_t renewed_ns;             /* when leases were last renewed */
	bool hurry;  /* somebody may have asked to cancel: look soon */
	bool failed; /* a capture has, since the scheduler last looked */
	struct symbolizing symbolizing;
	size_t max, n;
	struct run *items[WORKER_MAX_CAPTURES];
};

void runs_done(struct runs *c);
/*
 * Starts what a job asks for.
 *
 *   Shape    of: whose stacks, when it asks for a snapshot; may: enum
 *            worker_may, or 0: what the opener may do to these processes
 *   Owns     *job is taken, also on failure
 *   Errors   -errno when the job will be taken over; a capture that fails
 *            at once is no error, since its job and the log say why
 */
MUST_CHECK int
runs_start(struct runs *c, struct job *job, enum snapshot_of of, uint32_t may,
           const struct followed *now, int64_t now_ns);
/* Has those that sample follow whom the last look at the processes found. */
void runs_follow(struct runs *c, const struct targets *targets, int64_t now_ns);
/*
 * The same for one that is fetched from net/http/pprof pages; there is a
 * fetcher.
 */
MUST_CHECK int runs_pull(struct runs *c, struct job *job,
                         const struct service *of, int64_t now_ns);
/* The engine of a type of profile; WORKER_KINDS: there is none. *of, whose
 * stacks a snapshot is of, becomes which buckets for WORKER_BUCKETS. */
enum worker_kind runs_kind(const char *type, uint32_t *of);
/* The message that asks the analyser for it; all but id and pids. */
struct msg_start
runs_ask(const char *type, enum snapshot_of of, int64_t rate, int64_t seconds);
/*
 * The question for a page of net/http/pprof, with an id of its own.
 *   Errors   as pull_url()
 */
MUST_CHECK int runs_fetch_ask(struct runs *c, const char *base, uint32_t step,
                              int64_t seconds, struct fetch_ask *out);
/* Why a capture fails when its fetch did; of an enum fetch_error. */
enum capture_error runs_fetch_error(uint32_t e);
/* Takes one message of the fetcher; -EPIPE when it is gone. */
MUST_CHECK int runs_fetched(struct runs *c);
/* The fetcher died: what it was asked for fails. */
void runs_fetcher_gone(struct runs *c);
/* Takes one message of the analyser; -EPIPE when it is gone. */
MUST_CHECK int runs_receive(struct runs *c);
/* Renews leases, learns of cancelling, asks for checkpoints. */
MUST_CHECK int runs_tick(struct runs *c, int64_t now_ns);
/* The analyser died; blamed is the capture it was working on, or "". */
void runs_lost(struct runs *c, const char *blamed);
/* The worker stops: short captures go back to the queue, others end now. */
void runs_wind_up(struct runs *c);
/* Ends a job that never became a capture. */
MUST_CHECK int run_refuse(struct store *s, const struct job *job,
                          const char *code, const char *text);
