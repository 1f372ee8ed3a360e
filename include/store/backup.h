/*
 * Backups: copies of a store as of one moment, each in its own directory, made
 * while the API and the worker run.
 *
 *	manifest.json         names the database; without it there is no backup
 *	stoker-….db           the database
 *	profiles/, segments/  the bytes that its rows name, as in a store
 *	backup.lock           locked while one of these functions uses the
 *	                      directory
 *
 * A directory holds one backup. The next one into the same directory copies new
 * files, verifies those that are there, takes effect when it replaces
 * manifest.json, and then removes files that nothing refers to. A backup
 * killed before that leaves the previous one intact; the next one reuses the
 * files that it has copied.
 *
 * Link keys and API keys are in the database and so in a backup. The
 * configuration, the cache of debug files and the worker's journal of Go
 * programs are not: these belong to the host.
 */
#pragma once

#include "store/store.h"

#include <sys/types.h>

/* Facts about a backup. */
struct backup {
	int64_t taken_ms; /* the moment that the backup captures */
	int64_t schema;   /* version of the database */
	int64_t files;    /* of profiles */
	int64_t windows;
	int64_t bytes; /* of files and database */
};

struct backup_report {
	struct backup now;
	int64_t copied; /* files and windows that were new */
	int64_t copied_bytes;
	int64_t removed; /* files */
};

/*
 * Makes a backup of the store in store_dir.
 *
 *   Shape    dir is empty or has an earlier backup; it is created when it does
 *            not exist
 *   Errors   -EPERM dir belongs to another user or is accessible to others;
 *            -EXDEV dir is inside the store; -ENOTEMPTY dir has files that do
 *            not belong to a backup; -EBUSY another backup into dir is running;
 *            -EUCLEAN the store is damaged; as db_open(), -errno. *why gets one
 *            line; dir keeps its previous backup
 */
MUST_CHECK int backup_make(const char *store_dir, const char *dir,
                           struct backup_report *out, struct buf *why);

struct restore_ask {
	const char *dir;       /* of the backup */
	const char *store_dir; /* created when it does not exist */
	uid_t uid; /* with gid, the owner of a store that root creates */
	gid_t gid;
	bool replace; /* moves an existing store's data aside */
};

/*
 * Restores a store from a backup. The whole backup is verified before anything
 * is changed. The database gets its name last, so that half a store is never
 * opened; programs that start meanwhile wait. The next worker takes over jobs
 * that were running, as after a crash.
 *
 *   Shape    aside gets the path of a replaced store's data, or stays empty
 *   Errors   -ENOMEDIUM there is no backup in dir; -EBUSY a process has the
 *            store open, or a backup into dir is being made; -EEXIST the store
 *            has data; -EUCLEAN the backup is damaged; as db_open(), -errno.
 *            *why gets one line; the store is unchanged
 */
MUST_CHECK int backup_restore(const struct restore_ask *ask, struct backup *out,
                              struct buf *aside, struct buf *why);
