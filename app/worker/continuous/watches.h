/*
 * Continuous profiling on this host: one watch per service and type that is
 * sampled all the time. All watches are cut into windows and stored together.
 *
 *	continuous rows ─ watches_load ─> watches ─ WATCH ─> analyser
 *	clock ─ watches_step ─ CUT ─> analyser ─ WINDOWS ─> watches_take
 *	    ─> segment, profile_window rows
 *
 * Windows that can't be stored are kept and tried again. No others are cut
 * meanwhile, so that the next window is wider. While the disk is nearly full,
 * nothing is sampled. A gap is time that no window covers, whatever the cause.
 */
#pragma once

#include "base/conf.h"
#include "capture/recorder.h"
#include "store/continuous.h"
#include "store/service.h"
#include "store/window.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

/* Share of WORKER_MAX_CAPTURES; the rest is for captures on demand and
 * periodic.h. */
#define WATCHES_MAX 50

struct watch {
	char id[ID_MAX];
	char *tenant, *service;
	const char *type; /* row of types.def */
	uint64_t ways;    /* as in struct msg_start */
	char series[ID_MAX];
	int64_t rate;
	bool java;                /* WORKER_MAY_ASK has to be sent */
	bool threads;             /* as in struct msg_start */
	uint64_t stamp;           /* of struct following; 0: unknown to the
	                           * analyser */
	bool looked_at;           /* WORKER_MAY_LOOK was sent */
	bool left;                /* some of its processes are left out */
	int64_t retry_ns;         /* after a refusal: no retry before this
	                             time */
	enum capture_error error; /* the last one; CAPTURE_OK: it works */
};

/* A service that is left out; see left_out.h. */
struct left_one {
	char *tenant, *service;
	const char *type;
	bool is_left;
	enum capture_error reported;
};
struct left_out {
	struct left_one *items;
	size_t named, n; /* rows of items; number of all */
};

struct watches {
	struct store *store;
	const struct conf *conf;
	const char *host;
	const struct finding *findings; /* the worker's, or NULL */
	int analyser;                   /* socket, borrowed; -1: none */
	int events;                     /* socket to the opener, borrowed */
	struct watch *items;
	size_t n;
	struct left_out left; /* services beyond WATCHES_MAX */
	size_t others;        /* number of other types, see periodic.h */
	size_t others_left_out;
	int others_rc;                 /* why the store rejected those
	                                  windows */
	struct continuous_host counts; /* windows since the start */
	struct segment segment;
	int64_t segment_ns; /* when the segment was begun */
	int64_t next_ns;    /* when to cut next */
	int64_t cut_ns;     /* when CUT was sent; 0: no answer is pending */
	int data, rows;     /* windows that wait to be stored, or -1 */
	enum continuous_host_state state;
};
#define WATCHES_INIT                                                 \
	{                                                            \
		.analyser = -1, .segment = SEGMENT_INIT, .data = -1, \
		.rows = -1                                           \
	}

void watches_done(struct watches *w);
/* Reads what to profile. Watches that stay are not interrupted. */
MUST_CHECK int watches_load(struct watches *w, const struct targets *targets);
/* Sets another analyser, which knows no watch yet; -1: it is gone. */
void watches_analyser(struct watches *w, int socket);
/* Sends new processes to the analyser, cuts when it is time, and stores windows
 * that wait. */
void
watches_step(struct watches *w, const struct targets *targets, int64_t now_ns);
/* Takes an answer to CUT. Owns both descriptors, which may be -1. */
void watches_take(struct watches *w, const struct msg_windows *m, int data,
                  int rows, int64_t now_ns);
/* Takes a DONE that names a watch; false when it does not. */
bool
watches_failed(struct watches *w, const struct msg_done *m, int64_t now_ns);
/* Cuts for the last time; the answer has come once cut_ns is 0. */
void watches_wind_up(struct watches *w, const struct targets *targets,
                     int64_t now_ns);
/*
 * Logs, and records in the store, that a type of a service fails with e or
 * works again, when that differs from *reported.
 *   Shape    p has tenant, service and type
 */
void watches_report(struct watches *w, const struct continuous_problem *p,
                    enum capture_error *reported, enum capture_error e);
/* Describes the state and the counts, for the heartbeat. */
void watches_describe(const struct watches *w, struct continuous_host *out);

/* --- for periodic.h ------------------------------------------------------- */

/* Returns the ways to sample a type all the time for services of a kind; 0 if
 * the type is captured periodically instead. */
uint64_t watches_ways(const char *service_kind, const char *type);
/* True when c is enabled and has that type. */
bool watches_wants(const struct continuous *c, const char *type);
/*
 * Finds the series for new windows. Its labels are those of the service and of
 * its containers (targets.h); the service's take precedence. A new image makes
 * a new series, so that the versions of a program can be compared. If all of
 * the labels are too long for a fleet (BLOCK_LABELS_MAX), the containers' are
 * left out.
 */
MUST_CHECK int watches_series(struct watches *w, const struct targets *targets,
                              const struct service *s, const char *type,
                              char out[static ID_MAX]);
/*
 * Stores profiles as windows, all or none; windows of a series that was deleted
 * meanwhile are dropped.
 *   Shape    fds[i] is the profile of asks[i]; at most WATCHES_MAX
 */
MUST_CHECK int watches_add(struct watches *w, struct window_ask *asks,
                           const int *fds, size_t n, int64_t now_ns);
