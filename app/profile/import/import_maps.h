/*
 * The mappings of a process as text, which ends the files of allocators and of
 * gperftools.
 *
 *	55ff395fa000-55ff39610000 r-xp 00004000 fe:00 247728 /usr/bin/ls
 */
#pragma once

#include "import_build.h"

struct import_maps {
	struct import_span {
		uint64_t start, end;
		uint32_t mapping;
	} * spans;
	size_t n;
};

void import_maps_done(struct import_maps *m);
/*
 * Adds executable mappings of files to the profile; other lines are skipped.
 *   Owns     m is the caller's, even after a failure; import_maps_done() it
 */
MUST_CHECK int import_maps_read(struct import *im, const char *p,
                                const char *end, struct import_maps *m);
/* Returns the mapping that has an address, or PROFILE_NONE. */
uint32_t import_maps_find(const struct import_maps *m, uint64_t address);
