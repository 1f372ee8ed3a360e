/*
 * Directories: creating, opening and listing them.
 */
#pragma once

#include "base/cleanup.h"

#include <dirent.h>

#define CLEANUP_FOLDER CLEANUP(folder_close)

/*
 * Opens the folder dir_fd/name, and creates it first where it does not exist.
 *
 * The group may write there, whatever the umask, since the API stores files
 * that the worker deletes. The setgid bit is inherited from dir_fd and never
 * set here, since RestrictSUIDSGID= of the API's unit refuses a chmod that
 * names it.
 *
 *   Owns     *out is the caller's
 *   Errors   -errno; a folder whose mode cannot be set is removed again
 */
MUST_CHECK int folder_make(int dir_fd, const char *name, int *out);
/* Opens the folder dir_fd/name, which must not be a link; *out
 * is the caller's. */
MUST_CHECK int folder_open(int dir_fd, const char *name, DIR **out);
void folder_close(DIR **d);
/* Calls fn with each name in a folder until it returns other than 0. */
typedef int folder_entry(void *arg, const char *name);
MUST_CHECK int folder_each(int dir_fd, folder_entry *fn, void *arg);
