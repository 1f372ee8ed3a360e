/*
 * Profiles that other tools wrote, read without a server.
 */
#pragma once

#include "cli.h"

#include "profile/import.h"

/* The user's own file: only memory bounds it. */
#define IMPORT_MAX_FILE ((size_t)1 << 30)

struct local_files;

/* Adds the files that --binary names. Returns LEAVE_OK, or prints an error and
 * returns an exit status. */
MUST_CHECK int import_binaries(const struct cli *c, struct local_files *files);
/* True for files that are read here before they are uploaded: perf recordings,
 * which need this machine's programs, and any file with --binary. */
bool import_is_local(const struct cli *c, const struct buf *file);
/*
 * Reads a file with the options --type, --event and --rate. Recordings of perf
 * get their stacks and names from the files of this machine; with --binary, all
 * profiles get their names from there. Prints notes.
 *
 *   Shape    name is the file's, for messages; format is detected if NULL; if
 *            type is NULL, files of no type are read, too
 *   Owns     *out is the caller's; profile_free() it; *type is static
 *   Errors   LEAVE_OK, or prints an error and returns an exit status
 */
MUST_CHECK int import_local(struct cli *c, const char *name,
                            const struct buf *file, const char *format,
                            struct profile **out, const struct type **type);
