/*
 * Directories: creating, opening and listing them.
 */
#pragma once

#include "base/cleanup.h"

#include <dirent.h>
#include <stdint.h>

#define CLEANUP_FOLDER CLEANUP(folder_close)

/*
 * Opens the folder dir_fd/name, creating it if necessary.
 *
 * A new folder is writable by its group, whatever the umask, because the API
 * stores files that the worker deletes. The setgid bit is inherited from
 * dir_fd; it is not set here, because RestrictSUIDSGID= of the API's unit would
 * refuse that chmod.
 *
 *   Owns     *out is the caller's
 *   Errors   -errno; a new folder whose mode cannot be set is removed
 */
MUST_CHECK int folder_make(int dir_fd, const char *name, int *out);
/* Opens the folder dir_fd/name, which must not be a symbolic link. The caller
 * closes *out. */
MUST_CHECK int folder_open(int dir_fd, const char *name, DIR **out);
void folder_close(DIR **d);
/*
 * Opens the folder of a process's threads in proc_fd, which is /proc, or
 * AT_FDCWD for the /proc of this process.
 *   Owns     the caller closes *out
 *   Errors   -ESRCH there is no such process; other -errno
 */
MUST_CHECK int folder_open_tasks(int proc_fd, int32_t pid, DIR **out);
/*
 * Returns the next entry of a folder whose name is a positive number, such as a
 * pid or a tid; 0 at the end.
 */
int32_t folder_next_number(DIR *d);
/* Calls fn with each name in a folder. Stops when fn returns anything but 0,
 * and returns that. */
typedef int folder_entry(void *arg, const char *name);
MUST_CHECK int folder_each(int dir_fd, folder_entry *fn, void *arg);
