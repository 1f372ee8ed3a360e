/*
 * Whole files: read up to a ceiling, and written so that a crash leaves either
 * the old file or the new one.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Appends everything that fd still holds to out, whose ceiling bounds it.
 *   Errors   -errno, -E2BIG past out->max
 */
MUST_CHECK int fd_read_all(int fd, struct buf *out);
/*
 * Appends n bytes from start on to out, whose ceiling bounds it.
 *   Errors   -EBADMSG when the file ends before, -E2BIG past out->max, -errno
 */
MUST_CHECK int fd_read_at(int fd, int64_t start, int64_t n, struct buf *out);
/* Reads a path relative to dir_fd (AT_FDCWD) like fd_read_all(). */
MUST_CHECK int file_read(int dir_fd, const char *path, struct buf *out);
/* Returns an absolute path for one that may be relative to the working
 * directory, or NULL with errno. The caller frees it. */
char *file_absolute(const char *path);
/* Writes all n bytes or fails with -errno. */
MUST_CHECK int fd_write_all(int fd, const void *p, size_t n);
/* Returns true once the peer of a socket has closed it, or shut down its
 * side. */
bool fd_hung_up(int fd);
/* Starts writing back to disk early, so that a following sync is short. */
void fd_start_writing(int fd);
/*
 * Replaces dir_fd/name: writes a temporary file, syncs and renames it, then
 * syncs the directory. After a crash the name holds all of the old or all of
 * the new.
 */
MUST_CHECK int file_replace(int dir_fd, const char *name, mode_t mode,
                            const void *p, size_t n);
