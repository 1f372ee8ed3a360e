/*
 * The scheduler's state, and the work that it does at each turn.
 */
#pragma once

#include "heartbeat.h"
#include "scheduler.h"
#include "selftest.h"
#include "upkeep/retention.h"
#include "worker/agent/agent.h"
#include "worker/captures/runs.h"
#include "worker/collectors/deliveries.h"
#include "worker/continuous/periodic.h"
#include "worker/continuous/rollup.h"
#include "worker/continuous/watches.h"
#include "worker/debuginfod/debuginfod.h"
#include "worker/targets/discover.h"
#include "worker/targets/process_table.h"
#include "worker/targets/targets.h"
#include "worker/triggers/triggers.h"
#include "worker/triggers/webhooks.h"

struct scheduler {
	const struct conf *conf;
	struct worker_sockets io;
	int64_t alive_ns; /* when ALIVE is sent next */
	struct store store;
	struct worker_self self;
	struct selftest selftest;
	struct runs runs;
	struct targets targets;
	struct proc_table procs;
	struct discover discover;
	struct retention retention;
	struct watches watches;
	struct periodics periodics;
	struct triggers triggers;
	struct webhooks webhooks;
	struct deliveries deliveries;
	struct rollup rollup;
	struct debuginfod debuginfod;
	struct agent agent;
	int blame_fd;        /* of the running analyser; -1: none */
	bool fetcher_wanted; /* MSG_FETCHER is awaited */
	bool courier_wanted; /* MSG_COURIER is awaited */
	int signal_fd;       /* SIGTERM, SIGINT */
	int64_t version;     /* of the store's data, as last seen */
	int64_t scanned_ns;  /* when processes were last looked up */
	bool unmatched;      /* processes or services changed since */
	bool look_wanted;    /* a start or a survey may want a look */
	int64_t look_ns;     /* when such a request was last granted */
	int64_t cost_ns;     /* CPU time of that look */
	int64_t stop_by_ns;  /* 0: not stopping */
};

/* Takes one message of the opener; -EPIPE when the opener is gone. */
MUST_CHECK int scheduler_event(struct scheduler *s);
/* Handles the analyser's death: its captures are lost. */
void scheduler_analyser_gone(struct scheduler *s);
/* Take messages of the analyser and the fetcher that belong to no capture. */
runs_other scheduler_other;
runs_other_fetched scheduler_other_fetched;
/* Asks for a fetcher, and waits; arg is the scheduler. */
MUST_CHECK int scheduler_want_fetcher(void *arg);
/* Asks for a courier, and waits. */
MUST_CHECK int scheduler_want_courier(void *arg);
/* Handles the fetcher's death: its requests fail. */
void scheduler_fetcher_gone(struct scheduler *s);
/* Does all work that is due. Returns -EPROTONOSUPPORT if a later release has
 * changed the database, else 0. */
MUST_CHECK int scheduler_step(struct scheduler *s, int64_t now_ns);
