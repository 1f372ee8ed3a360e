/*
 * A service's profiles of a range of time: the windows of continuous profiling
 * that add up to the range, each sample once, or, for a service without
 * windows, the sessions that began in it. Besides the store's errors every
 * function here returns
 *   -EUSERS for more than RANGE_MAX_SERIES series, -EFBIG for more parts or
 *   bytes than one range may have: r->excess has their number, and the first
 *   time from which they fit, -E2BIG, -ETIME for too much memory or time,
 *   -ECANCELED when the peer has closed its socket, -EINVAL for profiles none
 *   of which has the value of the type, -ENODATA when nothing was captured,
 *   -EBADMSG when no profile that was captured can be read.
 */
#pragma once

#include "profile/blocks.h"
#include "profile/packed.h"
#include "store/blob.h"
#include "store/coverage.h"
#include "store/host_sum.h"
#include "store/session.h"
#include "store/window.h"

#define RANGE_MAX_PARTS  WINDOW_PLAN_MAX
#define RANGE_MAX_SERIES 1000
#define RANGE_MAX_LABELS 16
#define RANGE_LEFT_NAMED 3
#define RANGE_MAX_STORED ((int64_t)256 << 20) /* bytes, as stored */
#define RANGE_MAX_MERGED ((size_t)512 << 20)  /* bytes in memory */
#define RANGE_MAX_NS     (20 * NS_PER_S)      /* nginx waits for 30 s */

/* A window, or a session. */
struct range_part {
	struct span span;
	int64_t windows; /* number of captured windows in it */
	int64_t at_once; /* number of hosts that it adds up */
	int64_t samples, value, length;
	const struct window *window;
	const struct series *series;
	const struct session *session;
	bool unfit;       /* it lacks the value that the type shows, which other
	                     parts have */
	bool lost;        /* its bytes are missing or damaged */
	struct blob blob; /* the session's file */
};

struct range_label {
	const char *key, *value;
};

/* Parts that are left out of a sum: ids of the first few, which are borrowed,
 * and the number of all. */
struct range_left {
	const char *ids[RANGE_LEFT_NAMED];
	size_t n;
};

/* A condition that labels and host alone cannot express. */
struct range;
struct range_only {
	bool (*passes)(const struct range *r, const char *host,
	               const char *labels);
	const void *of;
	bool by_host; /* results depend on the host: sums over hosts are not
	                 read */
};

struct range {
	/* The question; all is borrowed. */
	struct store *store;
	const char *tenant, *service, *type;
	const char *host;   /* "": any */
	const char *origin; /* a word of PT_WINDOWS; NULL: all */
	struct range_label labels[RANGE_MAX_LABELS];
	size_t nlabels;
	struct range_only only; /* passes NULL: none */
	int64_t from_ms, to_ms;
	bool with_ids;   /* keep ids of spans and traces. Days lack them:
	                   hours are read as long as they are kept */
	int64_t end_ns;  /* deadline of range_merge(); 0: RANGE_MAX_NS after it
	                    starts */
	const int *peer; /* a socket; range_merge() stops when it is closed.
	                    NULL: none */
	/* The answer. */
	enum window_level trend_level; /* of range_trend() */
	struct series_list series;
	struct window_list *plans; /* by series */
	struct sum_span *sums;     /* spans read from sums over hosts */
	size_t nsums;
	struct host_cursors cursors; /* of hosts, if there are sums */
	struct session_list sessions;
	struct range_part *parts; /* in order of time */
	size_t n, left_out; /* number of parts; of pushed parts left out */
	struct range_left unfit,
		lost; /* parts that range_leave_out() removed */
	double covered_ms;
	uint32_t wanted; /* frames that range_merge() asked names for */
	int64_t names;   /* changes when frames get names: names_version() */
	struct range_excess {
		int64_t parts, bytes, fits_ms;
	} excess;
};
#define CLEANUP_RANGE CLEANUP(range_done)
void range_done(struct range *r);
/* Returns the question of a range without the answer. */
struct range range_question(const struct range *r);

/* Finds the series that the filters allow, at most RANGE_MAX_SERIES. */
MUST_CHECK int range_series(struct range *r);
/*
 * Finds the parts that add up to the range. A worker and clients that push
 * measure the same work, so only one of them is counted unless origin says
 * which. Hours with a sum over hosts (store/host_sum.h) are read from the sum,
 * unless the range is restricted to one host.
 */
MUST_CHECK int range_plan(struct range *r);
/*
 * Finds windows no coarser than a level, or coarser ones where finer ones are
 * no longer kept; the outer windows may reach past the range. Without any
 * window, finds sessions, possibly none.
 */
MUST_CHECK int range_trend(struct range *r, enum window_level level);
/*
 * Adds up all parts. A gauge becomes its mean over the time that windows cover,
 * of all series together. If the parts have different values, only the value of
 * the type is added up, and parts without it are left out of the range; so are
 * parts whose bytes are missing or damaged.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Shape    *why: one line about a part that could not be read
 */
MUST_CHECK int
range_merge(struct range *r, struct profile **out, struct buf *why);
/* Removes parts that are marked as lost or unfit, if any, and computes the
 * covered time again. Returns -EBADMSG or -EINVAL if no part is left. */
MUST_CHECK int range_leave_out(struct range *r);
/* Computes the covered time. Parts that reach past the end of the range count
 * whole. */
MUST_CHECK int range_cover(struct range *r);
/* Returns -EFBIG when the parts are too many or together too big. */
MUST_CHECK int range_check_size(struct range *r);

/* Returns a hash that identifies the parts of the plan. */
uint64_t range_hash(const struct range *r);
/*
 * Makes blocks of a range from its parts, or from finer windows if the parts
 * are few. t is a tree of the range's profile. Returns NULL if there are too
 * few parts, or too much to read.
 */
struct blocks *range_blocks(const struct range *r, const struct tree *t,
                            enum blocks_what what);
/* Makes blocks of a rollup, by its id; NULL for a captured window. */
struct blocks *
range_window_blocks(struct store *s, const char *tenant, const char *id,
                    const struct tree *t, enum blocks_what what);
/* Outlines parts before they are read; free() the result. NULL: out of memory.
 * A window of a gauge counts for as long as it stands. */
struct blocks_part *
range_outline(const struct range_part *parts, size_t n, bool gauge);
/* True when a client pushes the series, not a worker. */
bool range_is_pushed(const struct series *s);
/* True when an object of labels has every label that the range asks for. */
bool range_labels_match(const struct range *r, const char *json);
/* Makes a part, which borrows both. */
struct range_part range_part_of(const struct series *s, const struct window *w);
/* Returns the span of a part; the covered time is the mean over its hosts. */
struct span range_part_span(const struct range_part *p);
/* Sorts parts by time. */
void range_parts_sort(struct range_part *parts, size_t n);
/* True for a window during which nothing was sampled; such a window has no
 * bytes. */
bool range_part_is_empty(const struct range_part *p);
/*
 * Reads the profile of a part that is not empty. Threads may call this
 * concurrently if files has no database: then only files and objects are read.
 *   Shape    *why: one line when it is damaged
 */
MUST_CHECK int
range_part_read(const struct store *files, const struct range_part *p,
                struct packed *out, struct buf *why);
/*
 * Returns what range_part_read() reads parts from: a store without its
 * database, unless a part lies in the database.
 */
struct store
range_files(const struct store *s, const struct range_part *parts, size_t n);
