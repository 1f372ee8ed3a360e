/*
 * Adding windows up, to minutes, hours and days: what is due is read from
 * segments, summed by the analyser, and stored beside what it was made of.
 * One batch at a time, of one level. A batch that is lost, with whomever, is
 * made again: until its transaction, nothing has changed.
 */
#pragma once

#include "worker/ipc/messages.h"
#include "store/window.h"

/* Who wants to know how much of a minute functions took; as triggers.h. */
struct rollup_asker {
	void *arg;
	size_t (*functions)(void *arg, const char *series,
	                    const char *names[static ROLLUP_MAX_FUNCTIONS],
	                    char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX]);
	void (*share)(void *arg, const char *id, double percent);
};

struct rollup {
	struct rollup_asker asker;
	struct store *store;
	const char *host;
	int analyser; /* socket, borrowed; -1: none yet */
	int64_t next_ns;
	int64_t wall_ms; /* at the last step */
	int64_t sent_ns; /* 0: no answer is due */
	struct batch *batch;
};
#define ROLLUP_INIT            \
	{                      \
		.analyser = -1 \
	}

void rollup_done(struct rollup *r);
/* Another analyser, or -1: what the last one was given is lost. */
void rollup_analyser(struct rollup *r, int socket);
/* Looks for what is due, now and then, and has it summed. */
void rollup_step(struct rollup *r, int64_t now_ns, int64_t wall_ms);
/* An answer to ROLLUP. Owns both descriptors, or -1. */
void
rollup_take(struct rollup *r, const struct msg_rolled *m, int data, int rows);
