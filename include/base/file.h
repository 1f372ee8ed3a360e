/*
 * Whole files: read up to a ceiling, and written so that a crash leaves either
 * the old file or the new one.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Appends everything from the current offset to the end of fd to out, whose
 * ceiling bounds the size.
 *   Errors   -errno, -E2BIG past out->max
 */
MUST_CHECK int fd_read_all(int fd, struct buf *out);
/*
 * Appends n bytes of the file, beginning at offset start, to out.
 *   Errors   -EBADMSG if the file is shorter, -E2BIG past out->max, -errno
 */
MUST_CHECK int fd_read_at(int fd, int64_t start, int64_t n, struct buf *out);
/* As fd_read_all(), for a path relative to dir_fd, which may be AT_FDCWD. */
MUST_CHECK int file_read(int dir_fd, const char *path, struct buf *out);
/* Makes a path absolute, from the working directory. Returns NULL with errno on
 * failure. The caller frees the result. */
char *file_absolute(const char *path);
/* Writes all n bytes or fails with -errno. */
MUST_CHECK int fd_write_all(int fd, const void *p, size_t n);
/* Returns true once the peer of a socket has closed it, or shut down its
 * side. */
bool fd_hung_up(int fd);
/* Starts write-back of a file's dirty pages, so that a later sync is short. */
void fd_start_writing(int fd);
/*
 * Replaces dir_fd/name: writes and syncs a temporary file, renames it, and
 * syncs the directory. After a crash, the name refers to the whole old file or
 * the whole new one.
 */
MUST_CHECK int file_replace(int dir_fd, const char *name, mode_t mode,
                            const void *p, size_t n);
