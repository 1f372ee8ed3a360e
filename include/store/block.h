/*
 * Blocks: windows that a host has rolled up, in the form in which it sends them
 * to the centre of a fleet, and in which the centre keeps them. (The blocks of
 * profile/blocks.h, parts of time by which chance is measured, are unrelated.)
 *
 * A host keeps its windows as store/window.h says, and sends copies of minutes,
 * hours and days. A block has the windows of one tier and tenant within a range
 * of time: their bytes end to end, followed by a directory. It is a blob
 * (store/blob.h), stored as received. The database has a row for the block and
 * one for each of its series, a run: the adjacent windows of one series. An
 * hour of minutes is therefore one row, not sixty. Readers of windows
 * (store/window.h, store/history.h) get windows of runs as well as windows with
 * a row. The id of a window of a run is "win-", the block's random part, and
 * the index in its directory.
 *
 * Blocks of one host, tenant and tier follow each other in time: a row, the
 * cursor, has the time up to which the centre has them, and a block that begins
 * earlier is refused. A block that is sent again because its reply was lost is
 * therefore never counted twice. Minutes are sent fresh, a few at a time, and
 * again when their hour is over, in one block that replaces the fresh ones. The
 * parent of a window of a run is the window of the next tier that begins at the
 * same hour or day; it is not stored.
 *
 * The tenant and the host of a block are those of the key that sent it: a block
 * does not name a host, and its tenant is only compared. The bytes of windows
 * are not checked until they are read.
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
/* Hosts send an hour within this time after it ends, each after a different
 * delay. */
#define BLOCK_SPREAD_MS (30 * 60 * MS_PER_S)

enum window_level block_level(enum block_tier tier);

/* A window of a block; its bytes begin at start, from the block's first. */
struct block_window {
	int64_t start_ms, end_ms, duration_ms, windows, sample_count, value;
	int64_t start, length;
	int64_t quota_ms;
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
	int64_t start_ms, end_ms; /* complete within this range */
	int64_t entries;          /* where the directory of windows begins */
	int64_t entry_bytes;      /* of one window in it */
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
 * Appends a block of all this host's windows of a tenant and tier that begin
 * within a range.
 *
 *   Errors   -ENODATA without windows, -EFBIG for more than one block may have,
 *            -EINVAL for a range that no block of the tier has; errors of
 *            window_read()
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
 * Chooses which of a tenant's windows this host sends next. Minutes are sent
 * once they are over and rolled up, or after waiting for that long enough;
 * likewise hours and days. The minutes of an hour, which are most of what a
 * host sends, wait wait_ms longer, which differs between the hosts of a fleet.
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
/* Adds a tenant's minutes to *w. */
MUST_CHECK int
block_waiting(struct store *s, const char *tenant, struct block_waiting *w);
/* Records that the centre has everything of a tier up to a time; to_ms is the
 * end of a block, or a time that the centre replied with. */
MUST_CHECK int block_sent(struct store *s, const char *tenant,
                          enum block_tier tier, int64_t to_ms);

/* --- at the centre -------------------------------------------------------- */

/*
 * Stores a block from a host; leaves out windows of unknown services.
 *
 *   Shape    b is what block_decode() made of the n bytes at p
 *   Errors   -EALREADY if the centre has all of the block's time already, which
 *            the host treats as success; -ESTALE if the centre has a part of
 *            it, and -EAGAIN if the block ends in the centre's future:
 *            *out_cursor_ms is then the time from which, or until which, the
 *            centre accepts blocks; -EXFULL (quota.h); -errno. Nothing is
 *            stored
 */
MUST_CHECK int
block_accept(struct store *s, const char *host, const struct block *b,
             const void *p, size_t n, int64_t *out_cursor_ms);
/* Gets the time up to which the centre has blocks of a host's tier; 0: none. */
MUST_CHECK int
block_cursor(struct store *s, const char *tenant, const char *host,
             enum block_tier tier, int64_t *out_ms);
/* The time up to which windows of a host and tenant have arrived. */
struct arrived {
	char *tenant, *host;
	int64_t level, end_ms; /* enum window_level, without WINDOW_CAPTURED */
};
struct arrived_list {
	struct arrived *items;
	size_t n;
};
void arrived_list_done(struct arrived_list *l);
/* Lists these times for a tenant, or for all if tenant is "", by host. */
MUST_CHECK int
block_arrived(struct store *s, const char *tenant, struct arrived_list *out);
/*
 * Drops blocks past their retention, except those with a pinned window, and
 * windows past the retentionDays of their service. keep is the retention of
 * windows: minutes and hours are dropped once the next tier has them.
 *
 *   Shape    returns the number of blocks, at most a batch: call again until it
 *            is 0
 *   Errors   -errno; some blocks may have been dropped
 */
MUST_CHECK int block_expire(struct store *s, const struct window_keep *keep);
/* Creates partitions for the coming days, if the database is partitioned, and
 * drops partitions without blocks. */
MUST_CHECK int block_partitions(struct store *s);
