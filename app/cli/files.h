/*
 * Files that the user names: "-" is standard input or output.
 */
#pragma once

#include "base/buf.h"

/* Makes a folder and its parents, accessible to this user only; path is written
 * to meanwhile. Returns 0 or -errno. */
MUST_CHECK int folders_make(char *path);

/* Reads all of a file into out, whose ceiling bounds it. Returns LEAVE_OK, or
 * prints an error and returns an exit status. */
MUST_CHECK int read_named(const char *file, struct buf *out);
/* Writes a file, whole or not at all. Returns as read_named(). */
MUST_CHECK int write_named(const char *file, const struct buf *body);
