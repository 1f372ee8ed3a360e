/*
 * The driver of bytes in files. The writer keeps the file locked (orphans.h).
 * Only this driver can serve a process that writes through a descriptor
 * (blob_create()).
 */
#pragma once

#include "store/bytes.h"

extern const struct bytes_driver bytes_file;

/*
 * Creates an empty file, locked, whose name survives a crash.
 *   Owns     *out_fd is the caller's; the name is held until it is closed
 *   Errors   -EAGAIN: take another name; -errno; no file is left
 */
MUST_CHECK int bytes_file_create(int dir_fd, const char *name, int *out_fd);
/* Opens a file that is as long as length; -EBADMSG when it is not. */
MUST_CHECK int
bytes_file_open(int dir_fd, const char *name, int64_t length, int *out_fd);
