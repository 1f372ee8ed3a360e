/*
 * Backups: a store as it was at one moment, in a directory of its own, made
 * while the API and the worker go on.
 *
 *	manifest.json          names the database: this makes a backup of them
 *	stoker-….db            the database
 *	profiles/, segments/   the bytes that its rows name, as in a store
 *	backup.lock            held while one of these functions works there
 *
 * A directory holds one backup. The next one into the same directory copies
 * what is new, proves what is there, takes effect when it replaces
 * manifest.json, and removes what nobody names any more. Whoever is killed
 * before that leaves the previous backup, and files that the next one uses.
 *
 * Link keys and API keys are in the database and so in a backup. The
 * configuration, the cache of debug files and the worker's journal of Go
 * programs are not: these belong to the host.
 */
#pragma once

#include "store/store.h"

#include <sys/types.h>

/* What a backup holds. */
struct backup {
	int64_t taken_ms; /* the moment it shows */
	int64_t schema;   /* version of the database */
	int64_t files;    /* of profiles */
	int64_t windows;
	int64_t bytes; /* of both, and of the database */
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
 *   Shape    dir is empty, or has backups of ours, or is made
 *   Errors   -EPERM dir is open to others, or another user's; -EXDEV it is
 *            inside the store; -ENOTEMPTY it has files of others; -EBUSY
 *            another backup into it is being made; -EUCLEAN the store is
 *            damaged; as db_open(), -errno. One line in *why; dir holds the
 *            backup it held before
 */
MUST_CHECK int backup_make(const char *store_dir, const char *dir,
                           struct backup_report *out, struct buf *why);

struct restore_ask {
	const char *dir;       /* of the backup */
	const char *store_dir; /* made when it is absent */
	uid_t uid; /* with gid, the owner of a store that root makes */
	gid_t gid;
	bool replace; /* moves a store that has data aside */
};

/*
 * Puts a backup in the place of a store. The backup is proven whole before
 * anything is changed. The database gets its name last, so that no half of a
 * store is ever opened; programs that start meanwhile wait. The next worker
 * takes over jobs that ran, as after a crash.
 *
 *   Shape    aside: the path of a replaced store's data, or empty
 *   Errors   -ENOMEDIUM there is no backup in dir; -EBUSY a process has the
 *            store open, or a backup into dir is being made; -EEXIST the
 *            store has data; -EUCLEAN the backup is damaged; as db_open(),
 *            -errno. One line in *why; the store is as it was
 */
MUST_CHECK int backup_restore(const struct restore_ask *ask, struct backup *out,
                              struct buf *aside, struct buf *why);
