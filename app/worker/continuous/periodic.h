/*
 * Continuous profiles of types that are not sampled: each type of each service
 * is captured at its own second of the minute, by the engine that a capture on
 * demand would use, and stored as a window.
 *
 *	continuous rows ─ periodics_load ─> periodics
 *	clock ─ periodics_step ─ START or FETCH, PULL ─> DONE ─> window
 *
 * A gauge (memory, goroutine) is read periodically. For a counter (alloc,
 * block, mutex), each window is the increase during its time. An endpoint
 * measures that itself, and takes the whole time to answer. From outside, a
 * counter is read in a moment, and the reading is kept: the next window is the
 * increase since then. Such windows have no gaps: after a turn that is late or
 * fails, the next window is wider. A first reading makes no window. Captures on
 * demand have priority: nothing begins while the maximum of them runs. The
 * store records when a type begins or ceases to fail, not every attempt.
 */
#pragma once

#include "base/memory.h"
#include "watches.h"
#include "worker/captures/runs.h"
#include "worker/targets/targets.h"

#define PERIODICS_MAX 512 /* types of services on one host */
/* Share of WORKER_MAX_CAPTURES, besides WATCHES_MAX and captures on demand. */
#define PERIODICS_MAKING MEMORY_PERIODICS
/* Limit of all readings together; each has at most READING_MAX_BYTES. */
#define PERIODICS_READINGS_BYTES MEMORY_READINGS

enum periodic_state {
	PERIODIC_IDLE,
	PERIODIC_FETCHING, /* the fetcher has it */
	PERIODIC_FETCHED,  /* fd: the answer */
	PERIODIC_MAKING,   /* the analyser works; fd: output for the profile */
	PERIODIC_MADE,     /* fd: the profile, to be stored */
};

struct periodic {
	char id[ID_MAX]; /* of the capture in progress */
	char *tenant, *service;
	const char *type;
	char *url;     /* NULL: captured from outside */
	uint64_t ways; /* for url or outside, as in struct msg_start */
	bool java;     /* WORKER_MAY_ASK has to be sent */
	char series[ID_MAX];
	bool gauge;
	bool grows; /* a counter that is read from outside */
	/* WORKER_MAY_KEEP_… to make the program count, or 0. */
	uint32_t keep;
	/* The right and the processes of the last such message; NULL: none. */
	uint32_t kept_what; /* enum worker_may */
	struct followed *kept;
	int reading; /* the last reading (capture/buckets.h); -1: none */
	int64_t reading_bytes, read_ns;
	int64_t period_ns;
	int64_t next_ns;     /* 0: at once, then at its own second */
	int64_t deadline_ns; /* of the capture in progress */
	enum periodic_state state;
	uint64_t fetch;  /* id */
	uint32_t status; /* HTTP status */
	int64_t asked_ms, asked_ns;
	int fd;
	enum capture_error error; /* of the last capture */
	struct window_ask made;
};

struct periodics {
	struct runs *runs;
	struct watches *watches;
	/* Makes sure that a fetcher runs. Returns 0 or -errno. */
	int (*want_fetcher)(void *arg);
	void *arg;
	const int64_t *scanned_ns; /* when targets were last looked up */
	/* Called when a window was stored; NULL: not called. */
	void (*stored)(void *arg, const struct periodic *v);
	struct periodic *items;
	size_t n;
	int64_t kept_ns;      /* when WORKER_MAY_KEEP_… was last sent */
	bool ends;            /* from now on only last readings begin */
	struct left_out left; /* types of services beyond PERIODICS_MAX */
};

void periodics_done(struct periodics *t);
/* Reads what to profile; captures in progress that are still wanted go on. */
MUST_CHECK int
periodics_load(struct periodics *t, const struct targets *targets);
/* Stores finished profiles, and begins captures that are due. */
void periodics_step(struct periodics *t, const struct targets *targets,
                    int64_t now_ns);
/* Takes a DONE, and the reading among its descriptors; false if it is not about
 * a periodic capture. */
bool periodics_done_one(struct periodics *t, const struct msg_done *m,
                        int fds[static 2], int64_t now_ns);
/* Takes an answer of the fetcher, and its body; false if it is not about a
 * periodic capture. */
bool periodics_fetched(struct periodics *t, const struct fetch_answer *a,
                       int *body, int64_t now_ns);
/* Prepares the stop: counters are read for the last time. Stopping has ended
 * once periodics_wait() returns false. */
void periodics_wind_up(struct periodics *t, int64_t now_ns);
bool periodics_wait(const struct periodics *t);
/* Handle the death of a process: the captures that it was working on are
 * lost. */
void periodics_analyser_gone(struct periodics *t, int64_t now_ns);
void periodics_fetcher_gone(struct periodics *t, int64_t now_ns);
