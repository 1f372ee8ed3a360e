/*
 * Makes the listing of a capture (profile/listing.h): reads source lines from
 * the files of its processes, and instructions from the programs and libraries
 * that they ran.
 *
 * Both belong to a target. A source file is read only if one of its lines has a
 * cost in the profile: then the debug information of a program, or the memory
 * of an interpreter, names it. The host decides whether it may be read
 * (HOST_SOURCE). Instructions are decoded by libcapstone. All of this runs in
 * the capture's finisher, where a crash costs one capture only.
 */
#pragma once

#include "capture/host.h"
#include "profile/profile.h"

struct namer;

struct listing_ask {
	const struct host *host;
	const int32_t *pids; /* whose files are read */
	uint32_t npids;
	/* The capture's namer, which knows the programs; NULL: no instructions
	 * are listed. */
	struct namer *namer;
};

/*
 * Lists the lines and instructions that p has costs in, the most expensive
 * first as far as LISTING_MAX_* allow, and writes the listing's file.
 *   Errors   -ENODATA there is nothing to list, -ENOMEM, -E2BIG; out is
 *            poisoned or untouched
 */
MUST_CHECK int listing_write(const struct listing_ask *ask,
                             const struct profile *p, struct buf *out);
