/* Folders that upkeep walks. */
#pragma once

#include "base/cleanup.h"
#include "store/db.h"

#include <dirent.h>
#include <stdint.h>

#define CLEANUP_FOLDER CLEANUP(folder_close)

/* name below dir_fd, never a link; *out is the caller's. */
MUST_CHECK int folder_open(int dir_fd, const char *name, DIR **out);
void folder_close(DIR **d);
/*
 * Removes the files of a folder whose writer died before its first
 * transaction: old ones that a query, asked for the name up to its dot, does
 * not know. Adds them to *n; -errno. What is no folder is left alone.
 */
MUST_CHECK int folder_sweep(struct db *db, int dir_fd, const char *name,
                            enum sql known, int64_t orphan_ms, int *n);
