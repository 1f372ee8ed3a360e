/*
 * Files, whole: read with a ceiling, written so that a crash leaves either
 * the old file or the new one.
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/*
 * Appends everything fd still holds to out (which bounds it).
 *   Errors   -errno, -E2BIG past out->max
 */
MUST_CHECK int fd_read_all(int fd, struct buf *out);
/* The same for a path relative to dir_fd (AT_FDCWD). */
MUST_CHECK int file_read(int dir_fd, const char *path, struct buf *out);
/* The path from "/" on of one that may count from the working directory; NULL
 * with errno. free() it. */
char *file_absolute(const char *path);
/* Writes all n bytes or fails with -errno. */
MUST_CHECK int fd_write_all(int fd, const void *p, size_t n);
/* Has what was written go to the disk already, for a sync that follows. */
void fd_start_writing(int fd);
/*
 * Replaces dir_fd/name: temporary file, fsync, rename, fsync of the
 * directory. After a crash the name holds all of the old or all of the new.
 */
MUST_CHECK int file_replace(int dir_fd, const char *name, mode_t mode,
                            const void *p, size_t n);
