/*
 * Stores what clients push to one process of the pool: windows as captured by a
 * worker (store/window.h), in series whose host is WINDOW_PUSHED, and in a
 * separate segment.
 */
#pragma once

#include "profile/profile.h"
#include "store/names.h"
#include "store/window_queue.h"

#define PUSHES_ASKED 4096
#define PUSHES_WAYS  8 /* a line of the CPU's cache */
struct pushes {
	struct segment segment; /* open for the next push */
	struct window_queue queue;
	bool alone; /* the log says that the queue could not be opened */
	int64_t opened_ns;
	/* Hashes of frames whose names this process has requested and does not
	 * request again for a while: PUSHES_ASKED lists, newest first. NULL:
	 * none was requested. */
	uint64_t (*asked)[PUSHES_WAYS];
	int64_t asked_ns; /* since when */
};
#define PUSHES_INIT                                                  \
	{                                                            \
		.segment = SEGMENT_INIT, .queue = WINDOW_QUEUE_INIT, \
	}

void pushes_done(struct pushes *p);

#define PUSH_MAX_TYPES 16
/* A push, one window for each of its types; strings are borrowed. */
struct push_windows {
	const char *tenant, *service;
	const char *labels; /* JSON object */
	int64_t max_series; /* most series of pushes in the service */
	int64_t start_ms, end_ms;
	struct push_window {
		const char *type;
		const void *file; /* pprof, gzipped */
		size_t length;
		struct buf made; /* the file, unless it is borrowed */
		int64_t samples, value;
	} of[PUSH_MAX_TYPES];
	size_t n;
	struct push_unnamed *unnamed; /* NULL: all frames have names */
	int refused;                  /* set by pushes_store(); 0: stored */
};
#define CLEANUP_PUSH CLEANUP(push_windows_done)
void push_windows_done(struct push_windows *w);
/*
 * Adds a window of the value type that p's viewers see by default.
 *   Shape    file[n] is p as gzipped pprof, borrowed; NULL: p is encoded
 *   Errors   -ENOMEM, -E2BIG past WINDOW_MAX_BYTES or PUSH_MAX_TYPES,
 *            -EOVERFLOW when values do not add up, or past PUSH_MAX_VALUE
 */
#define PUSH_MAX_VALUE (INT64_C(1) << 50) /* so that sums of a day fit */
MUST_CHECK int push_add(struct push_windows *w, const char *type,
                        const struct profile *p, const void *file, size_t n);
/*
 * Stores the windows of n pushes, all in one transaction; they are on disk when
 * it returns. Names of frames that have none are asked for. A push that is
 * refused is left out as a whole: refused is -ENOENT if there is no such
 * service, -EDQUOT past max_series.
 *   Errors   -errno, nothing is stored; -EINPROGRESS: it may be
 */
MUST_CHECK int pushes_store(struct pushes *p, struct store *s,
                            struct push_windows *w, size_t n);
