/*
 * Bytes: named, immutable, and either complete or absent.
 *
 * Rows of the database name bytes and say which driver keeps them (column
 * store of blob): new bytes go to the configured one, and those of an old row
 * are read by the driver that wrote them.
 *
 * Bytes are written first and their row second, and nobody looks at bytes
 * without a row. Until the row is committed their writer holds them, so that
 * bytes_list(), by which bytes without a row are found and dropped, does not
 * see them. Bytes that were dropped before their row was forgotten are dropped
 * again.
 *
 * Windows of continuous profiling that lie in files are no bytes of this kind:
 * they are appended to segments of their host (store/window.h).
 */
#pragma once

#include "store/store.h"

#define BYTES_FILE     "file" /* below profiles/, beside the database */
#define BYTES_DB       "db"   /* in the database: where that is a server */
#define BYTES_NAME_MAX 96     /* with its NUL, like the next */
#define BYTES_STORE    8

/* n bytes from start on, of bytes that are whole bytes long; for those in the
 * database that may be unknown. */
#define BYTES_WHOLE_UNKNOWN INT64_MAX
struct piece {
	int64_t whole, start, n;
};

/* Called with a name; returns 1 to have the bytes dropped, 0 to leave them, or
 * -errno, which ends the list. */
typedef int bytes_listed(void *arg, const char *name);

/*
 * One kind of place for bytes. Threads may call get() at once and without
 * s->db, but for bytes in the database.
 */
struct bytes_driver {
	const char *store; /* as rows have it */
	/* Returns once the bytes last. *out_hold, if not -1, is the caller's:
	 * a descriptor that holds the bytes until it is closed. -EAGAIN: take
	 * another name. */
	int (*put)(struct store *s, const char *name, const void *p, size_t n,
	           int *out_hold);
	int (*get)(const struct store *s, const char *name,
	           const struct piece *piece, struct buf *out);
	int (*drop)(struct store *s, const char *name);
	int (*list)(struct store *s, bytes_listed *fn, void *arg);
};

/*
 * Stores bytes by a name that no other bytes have had.
 *
 *   Owns     *out_hold is the caller's, to be closed once the row is there; -1
 *            where the driver leaves young bytes alone without it
 *   Errors   -EAGAIN: take another name; -EINVAL for a name of no valid form;
 *            -ENOTSUP for a driver that is not there; -errno. Nothing by that
 *            name is left, or bytes that bytes_list() will show
 */
MUST_CHECK int bytes_put(struct store *s, const char *driver, const char *name,
                         const void *p, size_t n, int *out_hold);
/*
 * Appends a piece of bytes to out, whose ceiling bounds it. Threads may call
 * this at once, and need no s->db, but for bytes in the database.
 *
 *   Errors   -ENOTSUP, -ENOENT, -EBADMSG when the bytes are not as long as the
 * piece says or the name has no valid form, -E2BIG past out->max, -errno; what
 *            was appended is undefined then
 */
MUST_CHECK int
bytes_get(const struct store *s, const char *driver, const char *name,
          const struct piece *piece, struct buf *out);
/* Drops bytes; 0 also when there are none by that name. */
MUST_CHECK int
bytes_drop(struct store *s, const char *driver, const char *name);
/*
 * Calls fn with the name of all bytes that no writer holds, in any order. While
 * fn runs nobody begins to hold them. Names are as they are found: some may be
 * of no valid form.
 *   Errors   what fn returned, -errno
 */
MUST_CHECK int
bytes_list(struct store *s, const char *driver, bytes_listed *fn, void *arg);

/* True for the error of a place that does not answer, or refuses, rather than
 * of the bytes: they may be there later. */
bool bytes_unreachable(int rc);
/* True for a name that may be used, as bytes_name_new() makes them: rows are
 * not trusted with paths. */
bool bytes_name_valid(const char *name);
/* Makes an id, and the name of its bytes, "ab/blob-ab….pb.gz"; prefix is that
 * of a blob, a block or a segment. */
void bytes_name_new(const char *prefix, char id[static ID_MAX],
                    char out[static BYTES_NAME_MAX]);
/* The name of the bytes with an id; -EBADMSG for one that has none. */
MUST_CHECK int bytes_name_of(const char *id, char out[static BYTES_NAME_MAX]);
