/*
 * Triggers of the services on this host: a capture starts when a value reaches
 * its threshold.
 *
 *	/proc/PID/stat ─ triggers_step ─> rss, cpu
 *	window of goroutines ─ triggers_window ─> goroutineGrowth
 *	minute of CPU windows ─ triggers_functions, a child of the analyser,
 *	    triggers_share ─> cpuShare, shift
 *
 * The store decides whether a trigger fires (store/trigger.h); webhooks.h sends
 * its webhook.
 */
#pragma once

#include "base/conf.h"
#include "profile/shift.h"
#include "store/trigger.h"
#include "worker/continuous/rollup.h"
#include "worker/continuous/watches.h"
#include "worker/ipc/messages.h"
#include "worker/targets/targets.h"

struct rule {
	struct trigger row;
	int64_t quiet_ns;    /* end of its cooldown */
	int64_t reported_ns; /* when its value was last reported; 0: never */
	/* for cpu: CPU time of its processes at the last look */
	struct rule_usage {
		int32_t pid;
		uint64_t ticks;
	} * seen;
	size_t nseen;
	int64_t seen_ns; /* 0: never */
	/* for shift: minutes since it last fired, at most SHIFT_BINS */
	struct shift_bin *minutes;
	size_t nminutes;
};

struct triggers {
	struct watches *watches;
	const struct targets *targets;
	const int *proc_fd; /* the directory /proc */
	struct rule *items;
	size_t n;
	int64_t next_ns;
	bool fired; /* set when a trigger fires; reset by the reader */
};

void triggers_done(struct triggers *t);
/* Reads the rules again. */
MUST_CHECK int triggers_load(struct triggers *t, int64_t now_ns);
/* Reads the CPU time and memory of processes from time to time. */
void triggers_step(struct triggers *t, int64_t now_ns);
/* Handles a new window of goroutines or threads. */
void
triggers_window(struct triggers *t, const char *tenant, const char *service,
                const char *series, int64_t value, int64_t now_ns);
/*
 * Lists the functions whose shares of a series are needed.
 *   Shape    names[i] belongs to ids[i]; returns their number
 *   Owns     names are t's, until triggers_load()
 */
size_t triggers_functions(const struct triggers *t, const char *series,
                          const char *names[static ROLLUP_MAX_FUNCTIONS],
                          char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX]);
/* Handles the share of a function in a minute. */
void triggers_share(struct triggers *t, const char *id,
                    const struct rollup_share *share, int64_t now_ns);
