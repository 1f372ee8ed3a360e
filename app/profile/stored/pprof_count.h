/* First pass over a pprof file: how many rows it holds, before any memory is
 * spent on them. */
#pragma once

#include "wire.h"

#define PPROF_FIELDS 16 /* of message Profile, by number */

struct pprof_count {
	size_t types, samples, stack, values, labels, mappings, locations,
		lines, functions, strings, string_bytes, comments;
	/* by field number: from its first field to the end of its last */
	struct wire where[PPROF_FIELDS];
};

/*
 * Counts the rows; no count is ever lower than what a reader will find.
 *   Errors   -EBADMSG, -E2BIG past a PROFILE_MAX_; one line in *why
 */
MUST_CHECK int
pprof_count(struct wire file, struct pprof_count *out, const char **why);
/* Bytes that decoding that many rows takes at most. */
size_t pprof_memory(const struct pprof_count *c);
