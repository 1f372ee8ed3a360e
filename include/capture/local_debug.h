/*
 * Debug files for a server: the parts of a program that name its functions,
 * which are symbols and DWARF, without its code and data.
 */
#pragma once

#include "base/buf.h"

#define LOCAL_DEBUG_ID 200

struct local_debug {
	char build_id[LOCAL_DEBUG_ID]; /* that the file in bytes has */
	char go_id[LOCAL_DEBUG_ID];    /* other identifiers; "": none */
	char htlhash[LOCAL_DEBUG_ID];
	struct buf bytes; /* an ELF file */
};
#define CLEANUP_LOCAL_DEBUG CLEANUP(local_debug_done)
void local_debug_done(struct local_debug *d);
/*
 * Reads a program, library or debug file. Go's programs, and those without a
 * build-id, stay whole.
 *
 *   Owns     *out is the caller's; local_debug_done() it
 *   Errors   -ENOEXEC not an ELF file for one of our machines, -ENODATA it has
 *            nothing that names functions, -E2BIG past max, -ENOMEM, -errno;
 *            *out untouched
 */
MUST_CHECK int
local_debug_read(const char *path, size_t max, struct local_debug *out);
