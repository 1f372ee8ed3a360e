/* Files of the store that no row of the database knows. */
#pragma once

#include "store/db/db.h"

/*
 * Locks a new file, which is not an orphan while fd or a duplicate is open:
 * its writer keeps it open until the row is committed. No clock is involved,
 * since clocks may be set back.
 *   Errors   -EAGAIN another process took the file for an orphan before it was
 *            locked: make another one; -errno
 */
MUST_CHECK int orphans_lock(int fd);
/*
 * Opens and locks a file that no writer has locked.
 *   Owns     *out_fd is the caller's; no writer comes back while it is open
 *   Errors   -EAGAIN it has a writer, -EINVAL it is not a regular file, -errno
 */
MUST_CHECK int orphans_open(int dir_fd, const char *file, int *out_fd);

typedef int orphans_found(void *arg, int dir_fd, const char *file);
/*
 * Locks each file of a folder that no writer has locked, and calls found with
 * it. Hidden folders are skipped.
 *   Errors   what found returns, -errno
 */
MUST_CHECK int
orphans_idle(int dir_fd, const char *name, orphans_found *found, void *arg);
/* Asks a query for the file's name up to its dot; 1, 0 or -errno. */
MUST_CHECK int orphans_known(struct db *db, enum sql known, const char *file);
/*
 * Calls found with each orphan of a folder: a file whose writer died before
 * its first transaction, so that no process has it locked and the query does
 * not know it.
 *   Errors   as orphans_idle()
 */
MUST_CHECK int orphans_each(struct db *db, int dir_fd, const char *name,
                            enum sql known, orphans_found *found, void *arg);
/* Removes the orphans of a folder; adds their number to *n. */
MUST_CHECK int orphans_sweep(struct db *db, int dir_fd, const char *name,
                             enum sql known, int *n);
