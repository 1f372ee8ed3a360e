/*
 * Debug files of programs in profiles, asked for at debuginfod servers.
 *
 * Off unless [symbols] debuginfod names servers, for these learn which
 * programs and libraries run here. A finisher tells which debug files a
 * profile had use for (MSG_DEBUG); what this host lacks is asked for
 * afterwards, one at a time, server by server, and kept in the cache
 * (debug_cache.h). No capture waits for it: the next one has the names, and
 * those before it by "stoker symbolize".
 *
 * A server's no (404), and an answer that is no ELF file or too large, is
 * remembered for a day when all servers gave one. A server that fails
 * otherwise rests for a while, and nothing is remembered.
 *
 * Source: debuginfod(8), webapi: GET /buildid/HEX/debuginfo
 */
#pragma once

#include "debug_cache.h"
#include "worker/ipc/debuginfod_url.h"
#include "worker/ipc/fetch.h"
#include "worker/ipc/messages.h"

#define DEBUGINFOD_MAX_QUEUE 256
#define DEBUGINFOD_REST_NS   INT64_C(300000000000)

struct debuginfod {
	const struct conf *conf;
	struct debug_cache cache;
	char queue[DEBUGINFOD_MAX_QUEUE][DEBUG_CACHE_NAME];
	size_t n;
	/* of the first in the queue */
	unsigned server; /* the next to ask */
	bool failed;     /* one could not say */
	uint64_t fetch;  /* id; 0: nothing is being fetched */
	int file;        /* -1: none */
	char temp[ID_MAX];
	int64_t rests_ns[DEBUGINFOD_MAX_SERVERS]; /* until then */
};

#define DEBUGINFOD_INIT                          \
	{                                        \
		.cache = {.dir = -1}, .file = -1 \
	}

/* Nothing is done, and nothing fails, where no server is named. */
void debuginfod_start(struct debuginfod *d, const struct conf *conf);
void debuginfod_done(struct debuginfod *d);
/* Takes what a finisher tells, who is not trusted. */
void debuginfod_take(struct debuginfod *d, const struct msg_debug *m);
/* True when something is to be fetched, and nothing is. */
bool debuginfod_waits(const struct debuginfod *d);
/* Asks for the next; fetcher: its socket, id: for the question. */
void
debuginfod_ask(struct debuginfod *d, int fetcher, uint64_t id, int64_t now_ns);
/* Takes an answer; false: it is another's. */
bool debuginfod_fetched(struct debuginfod *d, const struct fetch_answer *a,
                        int64_t now_ns);
/* The fetcher is gone. */
void debuginfod_fetcher_gone(struct debuginfod *d, int64_t now_ns);
