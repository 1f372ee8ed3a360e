/*
 * Windows: the profiles that continuous profiling stores, and their rollups.
 *
 * A window is a profile of one series: one type of one service, on one host,
 * under the same labels. Windows of level 0 are as captured, in pprof. All
 * windows of a level that begin within a minute, an hour or a day (UTC) add up
 * to one rollup of the next level, which becomes their parent; they are kept
 * beside it until retention deletes them. A time range is read from the
 * coarsest windows inside it, each sample once: a window is left out exactly
 * when its parent is used. A rollup holds sums, of gauges too: their average is
 * the sum over the number of windows. Rollups are packed (profile/packed.h),
 * since they are read to be added up. A window of level 0 with a parent is kept
 * as counts of the stacks of its minute (base/counted.h), in the same segment.
 * When an hour is made, its minutes and their windows become counts of the
 * stacks of the hour. Minutes and hours stay as long as they have children.
 *
 * Bytes are appended to segments, files below segments/ that many series share.
 * A segment grows first (segment_append, segment_sync), then one transaction
 * makes its windows known (window_commit, window_rollup): a writer that dies
 * leaves bytes that no row refers to. The space of deleted windows is freed by
 * punching holes, and the file is removed with its last window: see
 * window_reap().
 *
 * If hosts share a database server, a segment is stored in the database
 * (store/bytes.h), belongs to no host, and is complete once it is synced.
 */
#pragma once

#include "store/store.h"

#define WINDOW_PREFIX    "win-"
#define WINDOW_PUSHED    "ingest" /* host of series that clients push */
#define WINDOW_CHECKSUM  65       /* SHA-256 in hexadecimal, and a NUL */
#define WINDOW_MAX_BYTES ((int64_t)64 << 20)
#define WINDOW_PLAN_MAX  20000 /* windows of one range */

/* True for the id of a window, rather than of a session. */
static inline bool
window_is(const char *id)
{
	return id_valid(WINDOW_PREFIX, id);
}

enum window_level {
	WINDOW_CAPTURED,
	WINDOW_MINUTE,
	WINDOW_HOUR,
	WINDOW_DAY,
	WINDOW_LEVELS
};
/* Returns the length of a window of this level; 0 for WINDOW_CAPTURED, whose
 * windows have any length. */
int64_t window_span_ms(enum window_level level);
/* Returns the start of the window of this level that contains a time. */
int64_t window_floor(enum window_level level, int64_t ms);

struct window {
	char *id, *series, *parent, *segment, *checksum;
	int64_t level, start_ms, end_ms;
	int64_t duration_ms; /* captured time within the window */
	int64_t windows;     /* number of captured windows in it */
	int64_t sample_count;
	int64_t value; /* total of the default value type */
	int64_t start, length;
	int64_t pinned;
	int64_t quota_ms; /* lost to a CPU quota, summed over CPUs */
	/* For a window of a block (store/block.h) or of a segment in the
	 * database, named by segment: its driver and length. */
	char store[8]; /* "": a segment of a host */
	int64_t whole;
};
/* True for a sum that could not be made: readers use the windows below it. */
static inline bool
window_is_failed(const struct window *w)
{
	return w->level > WINDOW_CAPTURED && !w->length && w->sample_count;
}
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
/* Moves the windows of another list to this one. -ENOMEM: both are
 * unchanged. */
MUST_CHECK int
window_list_take(struct window_list *l, struct window_list *more);
void series_done(struct series *s);
void series_list_done(struct series_list *l);

/* --- writing, by the worker and for pushes -------------------------------- */

/*
 * Finds the series with these columns, or creates it.
 *
 *   Shape    labels: a JSON object in its canonical form, keys sorted
 *   Errors   -ENOENT when there is no such service
 */
MUST_CHECK int
series_of(struct store *s, const char *tenant, const char *service,
          const char *type, const char *host, const char *labels,
          char out[static ID_MAX]);
/*
 * Finds or creates a series of WINDOW_PUSHED, whose labels a client chooses: a
 * service has at most `most` of them, for all types together.
 *   Errors   as series_of(), and -EDQUOT
 */
MUST_CHECK int
series_of_pushed(struct store *s, const char *tenant, const char *service,
                 const char *type, const char *labels, int64_t most,
                 char out[static ID_MAX]);

struct segment {
	int fd; /* -1: stored in the database */
	char id[ID_MAX];
	char name[96];       /* of its file or bytes */
	const char *host;    /* borrowed; "": none */
	int64_t length;      /* bytes appended so far */
	struct store *store; /* borrowed */
	struct buf bytes;    /* for the database */
};
/* A segment of this size is followed by a new one. */
#define SEGMENT_MAX_BYTES ((int64_t)256 << 20)
#define SEGMENT_INIT     \
	{                \
		.fd = -1 \
	}
#define CLEANUP_SEGMENT CLEANUP(segment_close)

/* A window to commit, once its bytes are in a segment. */
struct window_ask {
	const char *series;
	enum window_level level;
	int64_t start_ms, end_ms, duration_ms, windows, sample_count, value;
	int64_t quota_ms;
	/* set by segment_append() */
	int64_t start, length;
	char checksum[WINDOW_CHECKSUM];
};

/* Creates a segment, to which no window refers yet; an open file is not
 * removed. */
MUST_CHECK int
segment_create(struct store *s, const char *host, struct segment *out);
void segment_close(struct segment *g);
/*
 * Appends a window's bytes; fills its start, length and checksum.
 *   Errors   -errno, -EFBIG past WINDOW_MAX_BYTES; the segment is unchanged
 */
MUST_CHECK int segment_append(struct segment *g, const void *p, size_t n,
                              struct window_ask *w);
/* Returns once the segment's bytes are durable. A segment in the database
 * cannot be appended to afterwards. */
MUST_CHECK int segment_sync(struct segment *g);
/*
 * Inserts the rows of appended and synced windows, all in one transaction.
 * Windows whose series was deleted with its service are skipped.
 *
 *   Shape    *out is the number of stored windows; may be NULL
 *   Errors   -errno, nothing is stored
 */
MUST_CHECK int window_commit(struct store *s, const struct segment *g,
                             const struct window_ask *w, size_t n, size_t *out);
/*
 * Inserts the row of a rollup. children must have all windows of the series, of
 * the level below, that begin within the rollup and have no parent; windows
 * that these include are not looked at.
 *   Errors   -ESTALE if the set of windows has changed: nothing is stored, roll
 *            up again
 */
MUST_CHECK int
window_rollup(struct store *s, const struct segment *g,
              const struct window_ask *w, const struct window_list *children);
/*
 * Replaces a window's bytes by others in a segment, in one transaction with its
 * rollup, which makes the segment known. The old bytes are freed. Returns
 * -ESTALE if the window is gone.
 */
MUST_CHECK int
window_replace(struct store *s, const struct segment *g, const struct window *w,
               const struct window_ask *by);
/*
 * Replaces a rollup's bytes by others of the same sum, and makes the segment
 * known; as window_replace().
 */
MUST_CHECK int
window_rollup_again(struct store *s, const struct segment *g,
                    const struct window *made, const struct window_ask *w);
/* Describes the window of this level and start that adds up others, in the
 * series of the first of them; windows that others include are left out. */
struct window_ask window_sum(enum window_level level, int64_t start_ms,
                             const struct window_list *children);
/* A rollup that is due, for all windows of a series that begin within it. */
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
 * Lists rollups of a level that are due: the oldest for each series of which
 * this host has bytes, ordered by time.
 *
 *   Shape    only rollups that ended before before_ms; at most max
 */
MUST_CHECK int window_ripe(struct store *s, enum window_level level,
                           int64_t before_ms, int max, struct ripe_list *out);
/* Lists the windows of which this one is the parent, in order of time: at most
 * max. */
MUST_CHECK int window_of_parent(struct store *s, const char *id, int max,
                                struct window_list *out);
/*
 * Finds the next hour, each once in the life of a store, whose minutes are
 * stored whole, as releases before 0.2.0 left them. Fills *out and its minutes.
 *   Errors   -ENOENT when all were found; -ENODATA if this one has lost some of
 *            its minutes
 */
MUST_CHECK int
window_whole(struct store *s, struct window *out, struct window_list *minutes);
/* Lists the windows that a rollup would hold, in order of time. */
MUST_CHECK int
window_children(struct store *s, const struct ripe *r, enum window_level level,
                struct window_list *out);

/* --- reading -------------------------------------------------------------- */

struct series_filter {
	const char *tenant;
	const char *service, *type, *host; /* "": any */
};

/* Lists series in order of creation; those of sums over hosts (store/
 * host_sum.h) only when their host is asked for. -E2BIG past WINDOW_MAX_SERIES.
 */
#define WINDOW_MAX_SERIES 20000
MUST_CHECK int series_list(struct store *s, const struct series_filter *f,
                           struct series_list *out);
/*
 * Lists series of all services with a type, "" for any, and for finished
 * sessions series whose id is "". Errors as series_list().
 */
MUST_CHECK int series_list_taken(struct store *s, const char *tenant,
                                 const char *type, struct series_list *out);
/* Finds a window and its series by id; -ENOENT. */
MUST_CHECK int window_get(struct store *s, const char *tenant, const char *id,
                          struct window *out, struct series *out_series);
/* Finds windows by a prefix of their id: at most WINDOW_FOUND_MAX, by id. */
#define WINDOW_FOUND_MAX 10
MUST_CHECK int window_find_ids(struct store *s, const char *tenant,
                               const char *prefix, struct window_list *out);
/*
 * Finds windows that add up to a range of one series, each sample once.
 *
 *   Shape    in order of time; windows as captured belong to the time at which
 *            they began. If only rollups are left, those wholly within the
 *            range are used, also above the level top
 *   Errors   -E2BIG past WINDOW_PLAN_MAX
 */
MUST_CHECK int
window_plan(struct store *s, const char *series, int64_t from_ms, int64_t to_ms,
            enum window_level top, struct window_list *out);
/* Lists windows of one level that begin in a range, in order of time. */
MUST_CHECK int
window_between(struct store *s, const char *series, enum window_level level,
               int64_t from_ms, int64_t to_ms, struct window_list *out);
/*
 * Appends a window's bytes after verifying their checksum, and the base of
 * those that are counted (base/counted.h). Bytes may have been replaced since
 * the row was read: read it again then.
 *   Errors   -ENOENT, -EBADMSG
 */
MUST_CHECK int
window_read(const struct store *s, const struct window *w, struct buf *out);
/* Appends only a window's own bytes. *base borrows its texts from the window,
 * and has the place of its base; its length is 0 if it has none. */
MUST_CHECK int window_read_own(const struct store *s, const struct window *w,
                               struct window *base, struct buf *out);
/* Appends a base of this form. It ends with a checksum, by which decoders find
 * damage. */
MUST_CHECK int window_read_base(const struct store *s,
                                const struct window *base, struct buf *out);

/* --- upkeep --------------------------------------------------------------- */

/*
 * Retention by level: ms that windows are kept once they have a parent, and
 * that any window is kept at most; 0: for ever. A service's own retentionDays
 * takes precedence over all_ms.
 */
struct window_keep {
	int64_t level_ms[WINDOW_LEVELS];
	int64_t all_ms;
};

/* Returns the retention that the configuration asks for. */
struct window_keep window_keep_of(const struct conf *c);

MUST_CHECK int
window_pin(struct store *s, const char *tenant, const char *id, bool pinned);
/* Deletes windows past their retention, except pinned ones. Returns their
 * number, at most a batch: call again until it is 0. */
MUST_CHECK int window_expire(struct store *s, const struct window_keep *keep);
/* Deletes, until the rest is within max_bytes, the oldest windows of whichever
 * tenant holds the most. Returns their number, about a batch at most. */
MUST_CHECK int window_shrink(struct store *s, int64_t max_bytes);
/* Frees the bytes of deleted windows, and removes files that no row refers to,
 * unless they are open as a segment. Returns the number of holes and files. */
MUST_CHECK int window_reap(struct store *s);
/* Gets the bytes and the number of all windows. */
MUST_CHECK int
window_usage(struct store *s, int64_t *out_bytes, int64_t *out_n);
