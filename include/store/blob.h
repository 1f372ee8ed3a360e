/*
 * Blobs: the bytes of profiles, in files beside the database, named by rows.
 *
 * A file is complete before its row exists: its name is on disk before the
 * first byte is written, its bytes before the caller's transaction inserts
 * the row. Its writer holds it open, and thereby locked, until then: a file
 * without a row that no process has locked is an orphan, which blob_sweep()
 * removes. Rows are marked as deleted by anyone; only the worker unlinks.
 */
#pragma once

#include "store/store.h"

#include <sys/types.h>

#define BLOB_PPROF          "pprof"
#define BLOB_TIMELINE       "timeline" /* profile/timeline.h */
#define BLOB_CHECKSUM_CHARS 65         /* SHA-256 in hexadecimal, and a NUL */
#define BLOB_NAME_MAX       96
#define BLOB_MAX_BYTES      ((int64_t)1 << 30)
#define BLOB_MAX_RAW        ((size_t)512 << 20) /* of a profile, inflated */

struct blob {
	char id[ID_MAX];
	char kind[16];
	char name[BLOB_NAME_MAX]; /* "ab/blob-ab….pb.gz", below profiles/ */
	int64_t start, length;
	char checksum[BLOB_CHECKSUM_CHARS];
};

/* A blob while it is written; fd is its file, open for writing. */
struct blob_writer {
	int fd;
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
 * Makes what was written to fd last: hashed, synced. One sync, for somebody
 * waits for the row, which is to be inserted next (job_finish(),
 * session_upload()), before blob_close().
 *   Errors   -errno, -EFBIG past BLOB_MAX_BYTES; the file is gone
 */
MUST_CHECK int blob_seal(struct blob_writer *w, struct blob *out);
/* Unlocks the file; removes it, unless it was sealed. */
void blob_close(struct blob_writer *w);
/* All at once from memory; blob_close() the writer once the row is there. */
MUST_CHECK int blob_put(struct store *s, const char *kind, const void *p,
                        size_t n, struct blob_writer *w, struct blob *out);
/* Removes a sealed file whose row could not be inserted. */
void blob_discard(struct store *s, const struct blob *b);

/* Finds the live blob of a session; -ENOENT. */
MUST_CHECK int blob_of_session(struct store *s, const char *session,
                               const char *kind, struct blob *out);
/*
 * Opens a blob's file for reading.
 *   Owns     *out_fd is the caller's
 *   Errors   -ENOENT, -EBADMSG when the file has another length
 */
MUST_CHECK int
blob_open(const struct store *s, const struct blob *b, int *out_fd);
/*
 * Reads how many bytes a gzipped blob holds once it is inflated.
 *   Errors   as blob_open()
 *   Source   RFC 1952, 2.3.1: ISIZE
 */
MUST_CHECK int
blob_raw_bytes(const struct store *s, const struct blob *b, uint32_t *out);
/* Reads all bytes of a blob and verifies its checksum; -EBADMSG. */
MUST_CHECK int
blob_read(const struct store *s, const struct blob *b, struct buf *out);
/* True for a name of the form that blob_create() makes: rows are not trusted
 * with paths. */
bool blob_name_valid(const char *name);

/* --- the worker's side --------------------------------------------------- */

/* Unlinks files of blobs that are marked as deleted. Returns their number. */
MUST_CHECK int blob_reap(struct store *s);
/* Removes orphans; the number removed. */
MUST_CHECK int blob_sweep(struct store *s);
/*
 * Deletes completed sessions older than max_age_ms, and then, until the rest is
 * within max_bytes, the oldest of whichever tenant holds the most. Returns their
 * number.
 */
MUST_CHECK int
blob_retain(struct store *s, int64_t max_bytes, int64_t max_age_ms);
/* Returns the size and the number of all live blobs. */
MUST_CHECK int blob_usage(struct store *s, int64_t *out_bytes, int64_t *out_n);
