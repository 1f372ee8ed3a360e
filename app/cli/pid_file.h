/*
 * A pid file that selects the processes of a service, while this program starts
 * one for it. A lock keeps others from using the file at the same time; when it
 * is not in use, it is empty.
 */
#pragma once

#include "base/buf.h"

/*
 * Opens and locks the pid file, and creates it if there is none.
 *
 * The server names the path, so it must end in ".pid", and a file that is there
 * must be this user's and hold nothing but a number.
 *
 *   Owns     *out is the caller's, for pid_file_close()
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int pid_file_open(const char *path, int *out);
/* Empties and closes the file; does nothing for -1. */
void pid_file_close(int *fd);
/* Appends the path of the file for a service that has none yet. Prints an error
 * and returns an exit status if there is no place for it. */
MUST_CHECK int pid_file_path(const char *service, struct buf *out);
