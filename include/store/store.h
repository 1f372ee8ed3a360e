/*
 * Everything that lasts: the database and the bytes kept beside it, in one
 * directory. The typed functions of the other headers here work on a store.
 *
 * They return 0 or -errno as db.h says, and besides: -ENOENT for a row that
 * is not there (or is another tenant's), -EEXIST for a name that is taken.
 * A call that writes is one transaction; callers that need several to hold
 * together put store_begin() and store_commit() around them.
 *
 * Structs own their strings, which are never NULL once filled; X_done() frees
 * them and accepts zeroed ones. Lists are X_list structs with X_list_done().
 */
#pragma once

#include "base/conf.h"
#include "base/finding.h"
#include "base/id.h"
#include "store/db/db.h"

#define STORE_DB         "stoker.db"
#define STORE_TENANT_MAX 64 /* with its NUL, as the next */
#define STORE_NAME_MAX   64
#define STORE_PAGE_MAX   500 /* most rows of one list call */

struct store {
	struct db *db;
	char *dir;
	int profiles_fd; /* directory of the blobs */
	int segments_fd; /* directory of the segments */
};
#define CLEANUP_STORE CLEANUP(store_close)

/*
 * Opens or creates the store in dir, which must exist.
 *
 *   Shape    worker: this is the process that may checkpoint
 *   Owns     *out is the caller's; store_close() it
 *   Errors   as db_open(), one line in *why; *out untouched
 */
MUST_CHECK int
store_open(const char *dir, bool worker, struct store *out, struct buf *why);
void store_close(struct store *s);
/* Opens only its database, and only to look (db.h); db_close() it. */
MUST_CHECK int store_look(const char *dir, struct db **out, struct buf *why);
/* Call between requests: follows a database file that was replaced. */
MUST_CHECK int store_refresh(struct store *s);

MUST_CHECK int store_begin(struct store *s);
MUST_CHECK int store_commit(struct store *s);
void store_rollback(struct store *s);
/* Commits when rc is 0, else rolls back; the result of both. */
MUST_CHECK int store_end(struct store *s, int rc);
/*
 * Tries what storing a profile takes: a folder, a file and its new name in
 * each directory, and the right to write to the database.
 *
 *   Units    min_free: bytes; less than that free is worth a warning
 *   Shape    *out says how it went, and never names a path or an errno
 *   Errors   -errno behind a BROKEN finding, for the log
 */
int store_try(struct store *s, int64_t min_free, struct finding *out);
/* Why the database refused a call last, for the log. */
const char *store_why(const struct store *s);
/* The database's clock. */
MUST_CHECK int store_now(struct store *s, int64_t *out_ms);

/*
 * Where a list goes on: opaque to clients, "" for the first page.
 * Lists are newest first unless they say otherwise.
 */
struct page {
	int limit;          /* 1..STORE_PAGE_MAX */
	const char *cursor; /* of the page before; -EINVAL when ill-formed */
};
