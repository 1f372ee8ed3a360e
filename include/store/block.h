/*
 * Blocks: windows that a host has added up, as it sends them to the centre of a
 * fleet, and as the centre keeps them.
 *
 * A host keeps its windows as store/window.h says, and sends copies of minutes,
 * hours and days. A block has those of one tier of one tenant within a range of
 * time: bytes of windows end to end, with a directory behind them. It is a
 * blob (store/blob.h), stored as it came. The database has a row for the block
 * and one for each of its series, a run: windows of one series that lie
 * together. So an hour of minutes is one row, not sixty. Readers of windows
 * (store/window.h, store/history.h) find those of runs beside those that are
 * rows of their own; their ids are "win-", the block's random part, and their
 * place in its directory.
 *
 * Blocks of one host, tenant and tier follow each other in time: a row, the
 * cursor, says up to where the centre has them, and a block that begins before
 * that is refused. So a block that is sent again, since its answer was lost, is
 * never counted twice. Minutes come fresh, a few at a time, and again when
 * their hour is over, all of its minutes in one block that takes the place of
 * the fresh ones. A window of a run has a parent when the windows of the next
 * tier have one that begins at its hour or day: nothing is written for that.
 *
 * The tenant and the host of a block are those of the key that it came with:
 * nothing in a block tells of a host, and a tenant is only compared. Bytes of
 * windows are taken for what they are when they are read.
 */
#pragma once

#include "store/blob.h"
#include "store/window.h"

enum block_tier {
	BLOCK_FRESH,   /* minutes, within one hour */
	BLOCK_MINUTES, /* those of one hour */
	BLOCK_HOURS,   /* within one day */
	BLOCK_DAYS,    /* one day */
	BLOCK_TIERS
};

#define BLOCK_MAX_BYTES   ((size_t)64 << 20)
#define BLOCK_MAX_SERIES  5000
#define BLOCK_MAX_WINDOWS 100000
#define BLOCK_LABELS_MAX  4096 /* with its NUL */
/* How far a host's clock may be ahead of the centre's. */
#define BLOCK_AHEAD_MS (120 * MS_PER_S)
/* Within which hosts send an hour once it is over, each at a time of its own.
 */
#define BLOCK_SPREAD_MS (30 * 60 * MS_PER_S)

enum window_level block_level(enum block_tier tier);

/* A window of a block; its bytes begin at start, from the block's first. */
struct block_window {
	int64_t start_ms, end_ms, duration_ms, windows, sample_count, value;
	int64_t start, length;
	char checksum[WINDOW_CHECKSUM];
};
struct block_series {
	const char *service, *type;
	const char *labels; /* as series_of() takes them */
	size_t first, n;    /* its windows, in order of time */
};
struct block {
	const char *tenant;
	enum block_tier tier;
	int64_t start_ms, end_ms; /* what it tells all about */
	int64_t entries;          /* where the directory of windows begins */
	struct block_series *series;
	struct block_window *windows;
	size_t nseries, nwindows;
	char *texts; /* owns the series' */
};
#define CLEANUP_BLOCK CLEANUP(block_done)
void block_done(struct block *b);

/*
 * Reads the directory of a block, and verifies all that it says: times, places
 * and checksums.
 *
 *   Owns     *out is the caller's; block_done() it
 *   Errors   -EBADMSG with one line in *why, -E2BIG for more series, windows or
 *            bytes than a block may have, -ENOMEM
 */
MUST_CHECK int
block_decode(const void *p, size_t n, struct block *out, struct buf *why);

/* --- on a host ------------------------------------------------------------ */

/*
 * Appends a block of this host's windows of a tenant and tier, all that begin
 * within a range.
 *
 *   Errors   -ENODATA when there are none, -EFBIG for more than one block may
 *            have, -EINVAL for a range that no block of the tier has; errors
 *            of window_read()
 */
MUST_CHECK int
block_of_windows(struct store *s, const char *tenant, enum block_tier tier,
                 int64_t start_ms, int64_t end_ms, struct buf *out);

/* The tier and the time of a block. */
struct block_span {
	enum block_tier tier;
	int64_t start_ms, end_ms;
};
/*
 * Chooses what this host sends next of a tenant's windows. Minutes are sent
 * once they are over and added up, or can't be for long; so are hours and days.
 * The minutes of an hour, which are most of what a host sends, wait for longer:
 * each host of a fleet has another wait_ms.
 *
 *   Shape    returns 1 with *out, or 0 when there is nothing yet
 *   Units    wait_ms after the end of an hour
 */
MUST_CHECK int block_next(struct store *s, const char *tenant, int64_t now_ms,
                          int64_t wait_ms, struct block_span *out);
/* Minutes of a tenant that wait to be sent. */
struct block_waiting {
	int64_t windows, bytes; /* minutes that the centre does not have */
	int64_t first_ms; /* when the oldest of them began; 0: none waits */
};
/* Adds a tenant's to *w. */
MUST_CHECK int
block_waiting(struct store *s, const char *tenant, struct block_waiting *w);
/* Records that the centre has everything of a tier up to a time; to_ms is the
 * end of a block, or any time that the centre told. */
MUST_CHECK int block_sent(struct store *s, const char *tenant,
                          enum block_tier tier, int64_t to_ms);

/* --- at the centre -------------------------------------------------------- */

/*
 * Stores a block that came from a host; windows of services that are not there
 * are left out.
 *
 *   Shape    b is what block_decode() made of the n bytes at p
 *   Errors   -EALREADY when the centre has all of its time already: to the
 *            host that is a success; -ESTALE when it has a part of it, and
 *            -EAGAIN when it ends in the centre's future: *out_cursor_ms then
 *            is the time from which on the centre takes blocks, or until which;
 *            -EXFULL (quota.h); -errno. Nothing is stored
 */
MUST_CHECK int
block_accept(struct store *s, const char *host, const struct block *b,
             const void *p, size_t n, int64_t *out_cursor_ms);
/* Returns up to where the centre has blocks of a host's tier; 0: none. */
MUST_CHECK int
block_cursor(struct store *s, const char *tenant, const char *host,
             enum block_tier tier, int64_t *out_ms);
/* Up to when windows of a host and tenant have arrived. */
struct arrived {
	char *tenant, *host;
	int64_t level, end_ms; /* enum window_level, without WINDOW_CAPTURED */
};
struct arrived_list {
	struct arrived *items;
	size_t n;
};
void arrived_list_done(struct arrived_list *l);
/* Lists them for a tenant, by host; "": for all. */
MUST_CHECK int
block_arrived(struct store *s, const char *tenant, struct arrived_list *out);
/*
 * Drops blocks past their retention, except those with a pinned window, and
 * windows past the retentionDays of their service. keep is that of windows: the
 * minutes of an hour, and hours, go once the next tier has them.
 *
 *   Shape    returns the number of blocks, at most a batch: call again until it
 *            is 0
 *   Errors   -errno; what was dropped stays so
 */
MUST_CHECK int block_expire(struct store *s, const struct window_keep *keep);
/* Makes partitions for the days to come, where the database has any, and drops
 * those without blocks. */
MUST_CHECK int block_partitions(struct store *s);
