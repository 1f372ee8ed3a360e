/*
 * Adds up windows into minutes, hours and days: windows are read from
 * segments, the analyser sums them, and the sums are stored beside them. There
 * is one batch at a time, with windows of one level. A batch that is lost with
 * a process is made again, since nothing changes before its transaction. A sum
 * whose process has died ROLLUP_ATTEMPTS times in a row is given up.
 */
#pragma once

#include "upkeep/batch.h"
#include "worker/ipc/messages.h"

/* Share of a function, callees included, in a minute. */
struct rollup_share {
	double percent;
	int64_t start_ms, samples; /* of the minute */
};

/* The module that wants the shares of functions in a minute: triggers.h. */
struct rollup_asker {
	void *arg;
	size_t (*functions)(void *arg, const char *series,
	                    const char *names[static ROLLUP_MAX_FUNCTIONS],
	                    char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX]);
	void (*share)(void *arg, const char *id, const struct rollup_share *s);
};

#define ROLLUP_ATTEMPTS 3

struct rollup {
	struct rollup_asker asker;
	struct store *store;
	int analyser; /* socket, borrowed; -1: none */
	int64_t next_ns;
	int64_t wall_ms; /* at the last step */
	int64_t sent_ns; /* 0: no answer is pending */
	struct rolling *rolling;
	int stored; /* 0, or why the last sums could not be stored: -errno */
	/* The sum that the last process to die was working on. */
	struct {
		char series[ID_MAX];
		enum window_level level;
		int64_t start_ms;
		unsigned deaths;
	} deadly;
	unsigned given_up; /* sums, since the worker started */
};
#define ROLLUP_INIT            \
	{                      \
		.analyser = -1 \
	}

void rollup_done(struct rollup *r);
/* Sets another analyser, or -1; a batch that it had is lost. */
void rollup_analyser(struct rollup *r, int socket);
/* Has rollups that are due summed; looks for them from time to time. */
void rollup_step(struct rollup *r, int64_t now_ns, int64_t wall_ms);
/* Takes an answer to ROLLUP. Owns both descriptors, which may be -1. */
void
rollup_take(struct rollup *r, const struct msg_batch *m, int data, int rows);
