/*
 * A pid file that selects the process of a service that this program starts. A
 * lock keeps others from using the file at the same time; when it is unused,
 * it is empty.
 */
#pragma once

#include "base/buf.h"

/*
 * Opens and locks the pid file, and creates it if there is none.
 *
 * The server names the path, so it must end in ".pid", and an existing file
 * must be this user's and contain nothing but a number.
 *
 *   Owns     *out is the caller's, for pid_file_close()
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int pid_file_open(const char *path, int *out);
/* Empties and closes the file; does nothing for -1. */
void pid_file_close(int *fd);
/* Appends the path of the file for a service that has none yet. Prints an
 * error and returns an exit status if there is no folder for it. */
MUST_CHECK int pid_file_path(const char *service, struct buf *out);
