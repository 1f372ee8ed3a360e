/*
 * Windows: what continuous profiling stores, and its rollups.
 *
 * A window is a profile of one series: one type of one service, on one host,
 * under the same labels. Those of level 0 are as captured, in pprof. All
 * windows of a level that begin within a minute, an hour or a day (UTC) add up
 * to one rollup of the next level, which becomes their parent; they stay
 * beside it until retention takes them. A time range is read from the coarsest
 * windows inside it, and no sample twice: a window is left out exactly when
 * its parent is taken. A rollup holds sums, of gauges too: their average is
 * the sum over the number of windows. It is packed (profile/packed.h), as it
 * is there to be added up.
 *
 * Bytes are appended to segments, files below segments/ that many series
 * share. A segment grows first (segment_append, segment_sync), then one
 * transaction makes its windows known (window_commit, window_rollup): a
 * writer that dies leaves bytes that nobody refers to. Bytes of deleted
 * windows are given back at once, as holes, and the file with its last
 * window: see window_reap().
 */
#pragma once

#include "store/store.h"

#define WINDOW_PREFIX    "win-"
#define WINDOW_PUSHED    "ingest" /* host of series that clients push */
#define WINDOW_CHECKSUM  65       /* SHA-256 in hexadecimal, and a NUL */
#define WINDOW_MAX_BYTES ((int64_t)64 << 20)
#define WINDOW_PLAN_MAX  20000 /* windows of one range */

enum window_level {
	WINDOW_CAPTURED,
	WINDOW_MINUTE,
	WINDOW_HOUR,
	WINDOW_DAY,
	WINDOW_LEVELS
};
/* How long a window of this level is; 0 for WINDOW_CAPTURED: as it comes. */
int64_t window_span_ms(enum window_level level);
/* Start of the window of this level that holds a time. */
int64_t window_floor(enum window_level level, int64_t ms);

struct window {
	char *id, *series, *parent, *segment, *checksum;
	int64_t level, start_ms, end_ms;
	int64_t duration_ms; /* captured within it */
	int64_t windows;     /* as captured, that it holds */
	int64_t sample_count;
	int64_t value; /* total of its default value type */
	int64_t start, length;
	int64_t pinned;
};
struct window_list {
	struct window *items;
	size_t n;
};
#define CLEANUP_WINDOW  CLEANUP(window_done)
#define CLEANUP_WINDOWS CLEANUP(window_list_done)

struct series {
	char *id, *tenant, *service, *type, *host, *labels;
	int64_t created_ms;
};
struct series_list {
	struct series *items;
	size_t n;
};
#define CLEANUP_SERIES      CLEANUP(series_done)
#define CLEANUP_SERIES_LIST CLEANUP(series_list_done)

void window_done(struct window *w);
void window_list_done(struct window_list *l);
void series_done(struct series *s);
void series_list_done(struct series_list *l);

/* --- writing: the worker's side, and pushes
 * ------------------------------------------ */

/*
 * The series with these columns, made when it is the first of its kind.
 *
 *   Shape    labels: a JSON object in its canonical form, keys sorted
 *   Errors   -ENOENT when there is no such service
 */
MUST_CHECK int
series_of(struct store *s, const char *tenant, const char *service,
          const char *type, const char *host, const char *labels,
          char out[static ID_MAX]);
/*
 * The same of WINDOW_PUSHED, whose labels are a client's: a service has at
 * most so many such series, of all types.
 *   Errors   -EDQUOT
 */
MUST_CHECK int
series_of_pushed(struct store *s, const char *tenant, const char *service,
                 const char *type, const char *labels, int64_t most,
                 char out[static ID_MAX]);

struct segment {
	int fd;
	char id[ID_MAX];
	const char *host; /* borrowed */
	int64_t length;   /* appended so far */
};
#define SEGMENT_INIT     \
	{                \
		.fd = -1 \
	}
#define CLEANUP_SEGMENT CLEANUP(segment_close)

/* What a window is made of, once its bytes are in a segment. */
struct window_ask {
	const char *series;
	enum window_level level;
	int64_t start_ms, end_ms, duration_ms, windows, sample_count, value;
	/* by segment_append() */
	int64_t start, length;
	char checksum[WINDOW_CHECKSUM];
};

/* A new file, which no window refers to yet; it stays while it is open. */
MUST_CHECK int
segment_create(struct store *s, const char *host, struct segment *out);
void segment_close(struct segment *g);
/*
 * Appends a window's bytes; fills its start, length and checksum.
 *   Errors   -errno, -EFBIG past WINDOW_MAX_BYTES; the segment is as before
 */
MUST_CHECK int segment_append(struct segment *g, const void *p, size_t n,
                              struct window_ask *w);
MUST_CHECK int segment_sync(struct segment *g);
/*
 * Makes appended and synced windows known, all in one transaction; those
 * whose series is gone, deleted with its service, are left out.
 *
 *   Shape    *out: how many were stored; may be NULL
 *   Errors   -errno, nothing is stored
 */
MUST_CHECK int window_commit(struct store *s, const struct segment *g,
                             const struct window_ask *w, size_t n, size_t *out);
/*
 * The same for a rollup of children, which must be all windows of its series,
 * of the level below, that begin within it and have no parent.
 *   Errors   -ESTALE when there are others by now, or one is gone: nothing
 *            has changed, roll up again
 */
MUST_CHECK int
window_rollup(struct store *s, const struct segment *g,
              const struct window_ask *w, const struct window_list *children);
/* A rollup that is due: all windows of a series that begin within it. */
struct ripe {
	char *series;
	int64_t start_ms;
};
struct ripe_list {
	struct ripe *items;
	size_t n;
};
#define CLEANUP_RIPE CLEANUP(ripe_list_done)
void ripe_list_done(struct ripe_list *l);
/*
 * The oldest rollup of a level that is due for each series of a host or of
 * WINDOW_PUSHED, the oldest of all first.
 *
 *   Shape    only what ended before before_ms; at most max
 */
MUST_CHECK int
window_ripe(struct store *s, const char *host, enum window_level level,
            int64_t before_ms, int max, struct ripe_list *out);
/* The windows that it would hold, in order of time. */
MUST_CHECK int
window_children(struct store *s, const struct ripe *r, enum window_level level,
                struct window_list *out);

/* --- reading -------------------------------------------------------------- */

struct series_filter {
	const char *tenant;
	const char *service, *type, *host; /* "": any */
};

/* In order of creation; -E2BIG past WINDOW_MAX_SERIES. */
#define WINDOW_MAX_SERIES 20000
MUST_CHECK int series_list(struct store *s, const struct series_filter *f,
                           struct series_list *out);
/* By the id of a window; both outputs, or none. -ENOENT. */
MUST_CHECK int window_get(struct store *s, const char *tenant, const char *id,
                          struct window *out, struct series *out_series);
/* Those whose id begins so: at most WINDOW_FOUND_MAX, by id. */
#define WINDOW_FOUND_MAX 10
MUST_CHECK int window_find_ids(struct store *s, const char *tenant,
                               const char *prefix, struct window_list *out);
/*
 * What adds up to a range of one series: each sample once.
 *
 *   Shape    in order of time; windows as captured belong to the time at
 *            which they began. Where only rollups are left, those that lie
 *            within the range: what juts out is not taken
 *   Errors   -E2BIG past WINDOW_PLAN_MAX
 */
MUST_CHECK int window_plan(struct store *s, const char *series, int64_t from_ms,
                           int64_t to_ms, struct window_list *out);
/* Windows of one level that begin in a range, in order of time. */
MUST_CHECK int
window_between(struct store *s, const char *series, enum window_level level,
               int64_t from_ms, int64_t to_ms, struct window_list *out);
/*
 * Appends its bytes, their checksum proven.
 *   Errors   -ENOENT, -EBADMSG
 */
MUST_CHECK int
window_read(const struct store *s, const struct window *w, struct buf *out);

/* --- upkeep --------------------------------------------------------------- */

/* How long windows of each level are kept once they have a parent, and all
 * of them at most; ms, 0: for ever. A service's own retentionDays goes
 * before all_ms. */
struct window_keep {
	int64_t level_ms[WINDOW_LEVELS];
	int64_t all_ms;
};

MUST_CHECK int
window_pin(struct store *s, const char *tenant, const char *id, bool pinned);
/* Deletes windows that are past their time; the number of them, at most a
 * batch: call again until it is 0. Pinned ones stay. */
MUST_CHECK int window_expire(struct store *s, const struct window_keep *keep);
/* Deletes the oldest windows, of whatever series, until the rest is within
 * max_bytes; the number deleted, at most a batch. */
MUST_CHECK int window_shrink(struct store *s, int64_t max_bytes);
/* Gives the bytes of deleted windows back; files that no row refers to go,
 * unless they are open as a segment. The number of holes and files. */
MUST_CHECK int window_reap(struct store *s);
/* Bytes and number of all windows. */
MUST_CHECK int
window_usage(struct store *s, int64_t *out_bytes, int64_t *out_n);
