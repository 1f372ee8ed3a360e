/*
 * Bytes: named, immutable, and either complete or absent.
 *
 * Rows of the database name bytes and the driver that keeps them (column store
 * of blob): new bytes go to the configured driver, and old ones are read by the
 * driver that wrote them.
 *
 * Bytes are written before their row, and bytes without a row are never read.
 * Until the row is committed the writer holds the bytes: bytes_list(), which
 * finds bytes without a row to be dropped, skips held bytes. If a process dies
 * between dropping bytes and deleting their row, the bytes are dropped again.
 *
 * Windows of continuous profiling in files are not stored here: they are
 * appended to segments of their host (store/window.h).
 */
#pragma once

#include "store/store.h"

#define BYTES_FILE     "file" /* below profiles/, beside the database */
#define BYTES_DB       "db"   /* in the database, if that is a server */
#define BYTES_NAME_MAX 96     /* with its NUL, like the next */
#define BYTES_STORE    8
#define BYTES_LAST_MAX 1025 /* with its NUL: names in S3 have up to 1024 */
/* Prefix of the ids of segments that are in the database, not in a file of one
 * host. */
#define BYTES_SEGMENT_PREFIX "sdb-"

/* n bytes from start on, of bytes with a length of whole; in the database the
 * length may be unknown. */
#define BYTES_WHOLE_UNKNOWN INT64_MAX
struct piece {
	int64_t whole, start, n;
};

/* Called with a name; returns 1 to have the bytes dropped, 0 to leave them, or
 * -errno, which ends the list. */
typedef int bytes_listed(void *arg, const char *name);

/* The position at which a list continues; zeroed to begin. */
struct bytes_at {
	char last[BYTES_LAST_MAX]; /* the last name, as its place has it */
	bool more;                 /* the list has not ended */
};

/*
 * A driver: one kind of place for bytes. Threads may call get() concurrently
 * and without s->db, except for bytes in the database.
 */
struct bytes_driver {
	const char *store; /* as rows have it */
	/* Returns once the bytes are durable. *out_hold, if not -1, is the
	 * caller's: a descriptor that holds the bytes until it is closed.
	 * -EAGAIN: take another name. */
	int (*put)(struct store *s, const char *name, const void *p, size_t n,
	           int *out_hold);
	int (*get)(const struct store *s, const char *name,
	           const struct piece *piece, struct buf *out);
	int (*drop)(struct store *s, const char *name);
	int (*list)(struct store *s, struct bytes_at *at, bytes_listed *fn,
	            void *arg);
};

/*
 * Stores bytes by a name that no other bytes have had.
 *
 *   Owns     *out_hold is the caller's, to be closed once the row exists; -1
 *            if the driver spares young bytes instead
 *   Errors   -EAGAIN: take another name; -EINVAL for a name of no valid form;
 *            -ENOTSUP for an unknown driver; -errno. No bytes of that name
 *            remain, or bytes_list() will list them
 */
MUST_CHECK int bytes_put(struct store *s, const char *driver, const char *name,
                         const void *p, size_t n, int *out_hold);
/*
 * Appends a piece of bytes to out, whose ceiling bounds it. Threads may call
 * this concurrently and without s->db, except for bytes in the database.
 *
 *   Errors   -ENOTSUP, -ENOENT, -EBADMSG when the bytes are not as long as the
 *            piece says or the name has no valid form, -E2BIG past out->max,
 *            -errno; what was appended is undefined then
 */
MUST_CHECK int
bytes_get(const struct store *s, const char *driver, const char *name,
          const struct piece *piece, struct buf *out);
/* Drops bytes; returns 0 also if no bytes have that name. */
MUST_CHECK int
bytes_drop(struct store *s, const char *driver, const char *name);
/*
 * Calls fn with names of bytes that no writer holds, in any order, and moves at
 * on. A call lists the files of a directory, or a page of another place: its
 * list may be long, and that of a hostile object store endless. While fn runs,
 * no writer can begin to hold the bytes. Names are passed as found, even if
 * invalid.
 *   Errors   what fn returned, -errno; at->more is false then
 */
MUST_CHECK int bytes_list(struct store *s, const char *driver,
                          struct bytes_at *at, bytes_listed *fn, void *arg);

/* True for an error of the place, which does not answer or refuses, rather than
 * of the bytes: a later call may succeed. */
bool bytes_unreachable(int rc);
/* True for a name in the form of bytes_name_new(): paths in rows are not
 * trusted. */
bool bytes_name_valid(const char *name);
/* Makes an id, and the name of its bytes, "ab/blob-ab….pb.gz"; prefix is that
 * of a blob, a block or a segment. */
void bytes_name_new(const char *prefix, char id[static ID_MAX],
                    char out[static BYTES_NAME_MAX]);
/* Gets the name of the bytes with an id; -EBADMSG for an id of another kind. */
MUST_CHECK int bytes_name_of(const char *id, char out[static BYTES_NAME_MAX]);
