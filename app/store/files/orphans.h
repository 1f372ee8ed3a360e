/* Files of the store that no row of the database knows. */
#pragma once

#include "store/db/db.h"

#include <stdint.h>

/*
 * Calls found with each orphan of a folder: a file whose writer died before
 * its first transaction, so old and unknown to a query that is asked for the
 * name up to its dot. Hidden folders, and files in a folder's place, have
 * none.
 *   Errors   what found returns, -errno
 */
typedef int orphans_found(void *arg, int dir_fd, const char *file);
MUST_CHECK int
orphans_each(struct db *db, int dir_fd, const char *name, enum sql known,
             int64_t orphan_ms, orphans_found *found, void *arg);
/* Removes these files; adds their number to *n. */
MUST_CHECK int orphans_sweep(struct db *db, int dir_fd, const char *name,
                             enum sql known, int64_t orphan_ms, int *n);
