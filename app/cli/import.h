/*
 * Profiles that other tools wrote, read without a server.
 */
#pragma once

#include "cli.h"

#include "profile/import.h"

/* The user's own file: only memory bounds it. */
#define IMPORT_MAX_FILE ((size_t)1 << 30)

/* True if the server cannot read a file as well as this machine can: it is a
 * recording of perf, or the user has named binaries. */
bool import_is_local(const struct cli *c, const struct buf *file);
/*
 * Reads a file of a format, NULL if it is to be found, as --type, --event and --rate say. Recordings of perf get their
 * stacks and names from the files of this machine; with --binary, so do the
 * names of all profiles. Prints notes.
 *
 *   Shape    name is that of the file, for messages
 *   Owns     *out is the caller's; profile_free() it; *type is static
 *   Errors   LEAVE_OK, or prints an error and returns an exit status
 */
MUST_CHECK int import_local(struct cli *c, const char *name,
                            const struct buf *file, const char *format,
                            struct profile **out, const struct type **type);
