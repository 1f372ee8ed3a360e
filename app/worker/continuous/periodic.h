/*
 * Continuous profiles of what is not sampled: each type of each service is
 * taken at its own time of the minute, by the engine that a capture on demand
 * would use, and stored as a window.
 *
 *	continuous rows ─ periodics_load ─> periodics
 *	clock ─ periodics_step ─ START or FETCH, PULL ─> DONE ─> window
 *
 * A gauge (memory, goroutine) is looked at once in a while; of a counter
 * (alloc, block, mutex) each window is what it grew by meanwhile. An endpoint
 * takes that time to answer. From outside a counter is read in a moment, the
 * reading is kept, and the next window is what came since: one ends where the
 * next begins, and a turn that is late or fails makes it wider, not a gap.
 * A first reading tells of no window. Captures on demand go first: nothing is
 * begun while as many run as may. What can't be taken is told in the store
 * when that changes, not each time.
 */
#pragma once

#include "watches.h"
#include "worker/captures/runs.h"
#include "worker/targets/targets.h"

#define PERIODICS_MAX 512 /* types of services on one host */
/* Of WORKER_MAX_CAPTURES, beside WINDOWS_MAX and captures on demand. */
#define PERIODICS_MAKING 6
/* Of all readings; each is less than READING_MAX_BYTES. */
#define PERIODICS_READINGS_BYTES ((int64_t)256 << 20)

enum periodic_state {
	PERIODIC_IDLE,
	PERIODIC_FETCHING, /* the fetcher has it */
	PERIODIC_FETCHED,  /* fd: what came */
	PERIODIC_MAKING,   /* the analyser has it; fd: where the profile goes */
	PERIODIC_MADE,     /* fd: the profile, to be stored */
};

struct periodic {
	char id[ID_MAX]; /* of the one under way */
	char *tenant, *service;
	const char *type;
	char *url; /* NULL: looked at from outside */
	bool java; /* WORKER_MAY_ASK is to be said */
	char series[ID_MAX];
	bool gauge;
	bool grows; /* a counter that is read from outside */
	/* WORKER_MAY_KEEP_…, where its program is to be made to count; or 0. */
	uint32_t keep;
	struct msg_may *kept; /* said of its processes last; NULL: nothing */
	int reading; /* the last one (capture/buckets.h); -1: there is none */
	int64_t reading_bytes, read_ns;
	int64_t period_ns;
	int64_t next_ns;     /* 0: at once, then at its own second */
	int64_t deadline_ns; /* of the one under way */
	enum periodic_state state;
	uint64_t fetch;  /* id */
	uint32_t status; /* of HTTP */
	int64_t asked_ms, asked_ns;
	int fd;
	enum capture_error error; /* that the last ended with */
	struct window_ask made;
};

struct periodics {
	struct runs *runs;
	struct windows *windows;
	/* Has a fetcher run; 0 or -errno. */
	int (*want_fetcher)(void *arg);
	void *arg;
	const int64_t *scanned_ns; /* when targets were last looked up */
	/* Of one whose window is stored; NULL: nobody asks. */
	void (*stored)(void *arg, const struct periodic *v);
	struct periodic *items;
	size_t n;
	int64_t kept_ns;      /* when all that is kept on was last said */
	bool ends;            /* nothing begins any more but last readings */
	struct left_out left; /* types of services beyond PERIODICS_MAX */
};

void periodics_done(struct periodics *t);
/* Reads what is wanted; what is under way and stays wanted goes on. */
MUST_CHECK int
periodics_load(struct periodics *t, const struct targets *targets);
/* Stores what was made, begins what is due. */
void periodics_step(struct periodics *t, const struct targets *targets,
                    int64_t now_ns);
/* A DONE; takes the reading among its descriptors. False: it is about none of
 * these. */
bool periodics_done_one(struct periodics *t, const struct msg_done *m,
                        int fds[static 2], int64_t now_ns);
/* An answer of the fetcher, whose body is taken; false: as above. */
bool periodics_fetched(struct periodics *t, const struct fetch_answer *a,
                       int *body, int64_t now_ns);
/* The worker stops: what counters have grown by is read for the last time,
 * which takes until periodics_wait() is false. */
void periodics_wind_up(struct periodics *t, int64_t now_ns);
bool periodics_wait(const struct periodics *t);
/* What they were doing is lost. */
void periodics_analyser_gone(struct periodics *t, int64_t now_ns);
void periodics_fetcher_gone(struct periodics *t, int64_t now_ns);
