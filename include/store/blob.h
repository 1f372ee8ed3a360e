/*
 * Blobs: the bytes of profiles (store/bytes.h), named by rows.
 *
 * A blob is complete before its row exists: its name is durable before the
 * first byte is written, and its bytes before the caller's transaction inserts
 * the row. Until then the writer holds the blob; bytes without a row or a
 * holder are an orphan, which blob_sweep() removes. Any process may mark rows
 * as deleted; blob_reap() drops the bytes.
 *
 * A blob that another process writes through a descriptor is a file. A blob in
 * memory is stored where the configuration says.
 */
#pragma once

#include "store/bytes.h"

#include <sys/types.h>

#define BLOB_PREFIX         "blob-"
#define BLOB_BLOCK_PREFIX   "block-"
#define BLOB_PPROF          "pprof"
#define BLOB_TIMELINE       "timeline" /* profile/timeline.h */
#define BLOB_LISTING        "listing"  /* profile/listing.h */
#define BLOB_BLOCK          "block"    /* store/block.h */
#define BLOB_DEBUG          "debug"    /* store/debug_file.h */
#define BLOB_CHECKSUM_CHARS 65         /* SHA-256 in hexadecimal, and a NUL */
#define BLOB_MAX_BYTES      ((int64_t)1 << 30)
#define BLOB_MAX_RAW        ((size_t)512 << 20) /* of a profile, inflated */

struct blob {
	char id[ID_MAX];
	char kind[16];
	char store[BYTES_STORE];   /* the driver that has its bytes */
	char name[BYTES_NAME_MAX]; /* "ab/blob-ab….pb.gz" */
	int64_t start, length;
	char checksum[BLOB_CHECKSUM_CHARS];
};

/* A blob that is being written, and held. */
struct blob_writer {
	int fd;     /* its file, open for writing, or what holds it; or -1 */
	int dir_fd; /* the store's */
	bool sealed;
	struct blob blob;
};
#define CLEANUP_BLOB_WRITER CLEANUP(blob_close)
#define BLOB_WRITER_INIT               \
	{                              \
		.fd = -1, .dir_fd = -1 \
	}

/* Creates a file, whose descriptor may be passed to another process for
 * writing. The name is on disk when this returns. */
MUST_CHECK int
blob_create(struct store *s, const char *kind, struct blob_writer *out);
/*
 * Hashes and syncs what was written to fd. Insert the row next (job_finish(),
 * session_upload()), then call blob_close().
 *   Errors   -errno, -EFBIG past BLOB_MAX_BYTES; the file is gone
 */
MUST_CHECK int blob_seal(struct blob_writer *w, struct blob *out);
/* Releases the blob; removes its file unless it was sealed. */
void blob_close(struct blob_writer *w);
/* Stores bytes from memory where the store's configuration says; blob_close()
 * the writer after inserting the row. */
MUST_CHECK int blob_put(struct store *s, const char *kind, const void *p,
                        size_t n, struct blob_writer *w, struct blob *out);
/* Drops sealed bytes whose row could not be inserted. */
void blob_discard(struct store *s, const struct blob *b);

/* Finds the live blob of a session; -ENOENT. */
MUST_CHECK int blob_of_session(struct store *s, const char *session,
                               const char *kind, struct blob *out);
/*
 * Opens the file of a blob that is in one for reading.
 *   Owns     *out_fd is the caller's
 *   Errors   -ENOENT, -EBADMSG when the file has another length, -ENOTSUP
 *            when the blob is not in a file
 */
MUST_CHECK int
blob_open(const struct store *s, const struct blob *b, int *out_fd);
/*
 * Writes the path under which nginx has a blob's bytes (X-Accel-Redirect): a
 * file below /_profiles/, or an object below /_objects/, signed. Returns 1 when
 * nginx can't have them, since they are in the database: blob_read() them.
 *   Errors   -ENOTSUP for an unknown driver, -EBADMSG
 */
MUST_CHECK int blob_location(const struct store *s, const struct blob *b,
                             int64_t now_ms, struct buf *out);
/*
 * Reads the inflated size of a gzipped blob.
 *   Errors   as bytes_get()
 *   Source   RFC 1952, 2.3.1: ISIZE
 */
MUST_CHECK int
blob_raw_bytes(const struct store *s, const struct blob *b, uint32_t *out);
/* Reads all bytes of a blob and verifies their checksum; errors as
 * bytes_get(). */
MUST_CHECK int
blob_read(const struct store *s, const struct blob *b, struct buf *out);
/* --- upkeep --------------------------------------------------------------- */

/* Drops the driver's bytes of blobs that are marked as deleted. Returns their
 * number, a few hundred per call at most. */
MUST_CHECK int blob_reap(struct store *s, const char *driver);
/* Removes a driver's orphans. Returns their number. */
MUST_CHECK int blob_sweep(struct store *s, const char *driver);
/* The same, of a part of the list; moves at on, as bytes_list() does. */
MUST_CHECK int
blob_sweep_part(struct store *s, const char *driver, struct bytes_at *at);
/*
 * Deletes completed sessions older than max_age_ms, and then, until the rest is
 * within max_bytes, the oldest of whichever tenant holds the most. Returns
 * their number.
 */
MUST_CHECK int
blob_retain(struct store *s, int64_t max_bytes, int64_t max_age_ms);
/* Returns the size and the number of all live blobs. */
MUST_CHECK int blob_usage(struct store *s, int64_t *out_bytes, int64_t *out_n);
