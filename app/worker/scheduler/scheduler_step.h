/* The scheduler's state, and what it does at each turn. */
#pragma once

#include "heartbeat.h"
#include "retention.h"
#include "scheduler.h"
#include "selftest.h"
#include "worker/captures/runs.h"
#include "worker/continuous/periodic.h"
#include "worker/continuous/rollup.h"
#include "worker/continuous/watches.h"
#include "worker/debuginfod/debuginfod.h"
#include "worker/targets/process_table.h"
#include "worker/targets/targets.h"
#include "worker/triggers/triggers.h"
#include "worker/triggers/webhooks.h"

struct scheduler {
	const struct conf *conf;
	struct worker_sockets io;
	struct store store;
	struct worker_self self;
	struct selftest selftest;
	struct runs runs;
	struct targets targets;
	struct proc_table procs;
	struct retention retention;
	struct windows windows;
	struct periodics periodics;
	struct triggers triggers;
	struct webhooks webhooks;
	struct rollup rollup;
	struct debuginfod debuginfod;
	int blame_fd;        /* of the analyser that runs; -1: none */
	bool fetcher_wanted; /* MSG_FETCHER is on its way */
	int wake_fd;         /* the database was written to */
	int signal_fd;       /* SIGTERM, SIGINT */
	int64_t version;     /* of the data, as last seen */
	int64_t scanned_ns;  /* when processes were last looked at */
	bool unmatched;      /* they or the services are new since */
	bool look_wanted;    /* somebody asks what runs now */
	int64_t look_ns;     /* when such a question was last answered */
	int64_t cost_ns;     /* CPU time that it took */
	int64_t stop_by_ns;  /* 0: not stopping */
};

/* Takes one message of the opener; -EPIPE when it is gone. */
MUST_CHECK int scheduler_event(struct scheduler *s);
/* The analyser is gone: its captures with it. */
void scheduler_analyser_gone(struct scheduler *s);
/* What the analyser, and the fetcher, say that is about no capture. */
runs_other scheduler_other;
runs_other_fetched scheduler_other_fetched;
/* Has a fetcher run: asks for one, and waits. arg: the scheduler. */
MUST_CHECK int scheduler_want_fetcher(void *arg);
/* The fetcher is gone: what it was asked for fails. */
void scheduler_fetcher_gone(struct scheduler *s);
/* Everything that is due. */
void scheduler_step(struct scheduler *s, int64_t now_ns);
