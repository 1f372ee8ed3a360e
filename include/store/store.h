/*
 * The store: a database and the files beside it, in one directory. The
 * functions of the other headers in this folder work on a store.
 *
 * All of them return 0 or -errno as db.h says, -ENOENT for a row that does not
 * exist or is another tenant's, -EEXIST for a name that is taken, and -EXFULL
 * for what a quota of the tenant forbids (quota.h). A call that writes is one
 * transaction; put store_begin() and store_commit() around several calls that
 * belong together.
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
#define STORE_TENANT_MAX 64 /* with its NUL, like the next */
#define STORE_NAME_MAX   64
#define STORE_PAGE_MAX   500 /* most rows of one list call */

/* A quota that refused a call. */
struct excess {
	enum quota quota;
	int64_t limit, held; /* held, not counting what was refused */
	int64_t wait_ms; /* until some of the quota is free again; 0: unknown */
};

struct store {
	struct db *db;
	char *dir;
	const char *bytes;  /* where new ones go (bytes.h); NULL: files */
	struct s3 *s3;      /* an object store; NULL: none (s3.h) */
	int64_t no_runs_ns; /* until then, the store is taken to have no runs */
	int64_t until_ns;   /* of store_until() */
	int profiles_fd;    /* directory of bytes in files */
	int segments_fd;    /* directory of the segments */
	char host[CONF_HOST_MAX]; /* the host that has these directories */
	bool sends;               /* its windows go to the centre of a fleet */
	int64_t whole_ms; /* end of the last hour that window_whole() found, and */
	char whole_id[ID_MAX];     /* its id */
	const struct conf *quotas; /* borrowed; NULL: none are enforced */
	struct excess excess;      /* of the last call that returned -EXFULL */
};
#define CLEANUP_STORE CLEANUP(store_close)

/*
 * Opens the store that conf names, in its dir, which must exist; a file of the
 * database is created there.
 *
 *   Shape    worker is true for the process that may checkpoint
 *   Owns     *out is the caller's; store_close() it
 *   Errors   as db_open(), with one line in *why; *out untouched
 */
MUST_CHECK int store_open(const struct conf *conf, bool worker,
                          struct store *out, struct buf *why);
/*
 * Brings the schema of the database that conf names up to date, so that this
 * release and the previous one can use it. Processes of either may be running.
 *   Shape    *out_version is the newest migration
 *   Errors   as store_open()
 */
MUST_CHECK int
store_migrate(const struct conf *conf, int64_t *out_version, struct buf *why);
/* Assigns all files to this host, whose name may have changed. Only the worker
 * of a store without other hosts calls this. */
MUST_CHECK int store_adopt(struct store *s);
void store_close(struct store *s);
/* Open only the database, read-only (db.h): the one that conf names, or the
 * file in a directory; db_close() it. */
MUST_CHECK int
store_look(const struct conf *conf, struct db **out, struct buf *why);
MUST_CHECK int store_look_in(const char *dir, struct db **out, struct buf *why);
/* Reopens the database when its file was replaced, or its server restarted.
 * Call it between requests. */
MUST_CHECK int store_refresh(struct store *s);

/* Limits how long calls wait for the object store, and for a database on a
 * server: until a time of clock_mono_ns() (db_until()). 0 removes this
 * limit. */
void store_until(struct store *s, int64_t until_ns);

MUST_CHECK int store_begin(struct store *s);
MUST_CHECK int store_commit(struct store *s);
void store_rollback(struct store *s);
/* Commits when rc is 0, or else rolls back. Returns rc, or the error of the
 * commit. */
MUST_CHECK int store_end(struct store *s, int rc);
/*
 * Tries everything that storing a profile needs: creates a folder, and creates
 * and renames a file, in each directory, and writes to the database.
 *
 *   Units    min_free: bytes; less free space gives a warning
 *   Shape    *out is the outcome, which never names a path or an errno
 *   Errors   -errno that caused a BROKEN finding, for the log
 */
int store_try(struct store *s, int64_t min_free, struct finding *out);
/* Returns why the database last refused a call, for the log. */
const char *store_why(const struct store *s);
/* The database's clock. */
MUST_CHECK int store_now(struct store *s, int64_t *out_ms);

/*
 * A page of a list. Cursors are opaque to clients, "" for the first page. Lists
 * are newest first unless they say otherwise.
 */
struct page {
	int limit;          /* 1..STORE_PAGE_MAX */
	const char *cursor; /* of the page before; -EINVAL when ill-formed */
};
