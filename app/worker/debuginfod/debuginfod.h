/*
 * Fetches debug files of profiled programs from debuginfod servers.
 *
 * This is off unless [symbols] debuginfod names servers, since the servers
 * learn which programs and libraries run here. A finisher reports which debug
 * files a profile needed (MSG_DEBUG). Files that this host lacks are fetched
 * afterwards, one at a time, server by server, and kept in the cache
 * (debug_cache.h). No capture waits for them: the next capture has the names,
 * and "stoker symbolize" adds them to earlier profiles. Uploads get them at
 * once (captures/symbolizing.h).
 *
 * If every server answers 404, or with a file that is not ELF or too large, the
 * file counts as missing for a day. A server that fails in another way is not
 * asked for a while, and nothing is recorded.
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
	uint64_t kept; /* files fetched since the start */
	/* State of the first file in the queue. */
	unsigned server; /* the next server to ask */
	bool failed;     /* a server failed */
	uint64_t fetch;  /* id of the request; 0: none */
	int file;        /* -1: none */
	char temp[ID_MAX];
	int64_t rests_ns[DEBUGINFOD_MAX_SERVERS]; /* until when a server is
	                                             not asked */
};

#define DEBUGINFOD_INIT                          \
	{                                        \
		.cache = {.dir = -1}, .file = -1 \
	}

/* Starts fetching; without servers, all functions do nothing and succeed. */
void debuginfod_start(struct debuginfod *d, const struct conf *conf);
void debuginfod_done(struct debuginfod *d);
/* Takes a finisher's report, which is not trusted. */
void debuginfod_take(struct debuginfod *d, const struct msg_debug *m);
/* True when a file is queued, and none is being fetched. */
bool debuginfod_waits(const struct debuginfod *d);
/* True while files are queued, or one is being fetched. */
bool debuginfod_busy(const struct debuginfod *d);
/* Asks for the next file through the fetcher's socket; the request gets id. */
void
debuginfod_ask(struct debuginfod *d, int fetcher, uint64_t id, int64_t now_ns);
/* Takes an answer; false if it is to another request. */
bool debuginfod_fetched(struct debuginfod *d, const struct fetch_answer *a,
                        int64_t now_ns);
/* Handles the fetcher's death. */
void debuginfod_fetcher_gone(struct debuginfod *d, int64_t now_ns);
