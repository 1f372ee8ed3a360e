/*
 * The second pass over a pprof file: one call per row, into arrays whose size
 * the first pass found. Rows must come after those that they refer to: strings,
 * then types, mappings and functions, then locations, then samples.
 *
 *   Errors   -EBADMSG, perhaps with a reason in d->why; -ENOMEM
 */
#pragma once

#include "idmap.h"
#include "profile/profile.h"
#include "wire.h"

struct decode {
	struct wire file;
	bool ours;                /* the file may be freed piece by piece */
	const struct wire *where; /* by field number: see pprof_decode.c */
	struct profile *p;
	uint32_t *strings; /* place in the file's table -> id */
	uint32_t nstrings;
	struct string waiting[STRINGS_AT_ONCE]; /* to be added together */
	uint32_t nwaiting;
	struct idmap mappings, functions, locations;
	size_t nvalues;
	const char *why;
};

int pprof_string(struct decode *d, struct wire w);
int pprof_strings(struct decode *d); /* call after the last pprof_string() */
int pprof_type(struct decode *d, struct wire w);
int pprof_period_type(struct decode *d, struct wire w);
int pprof_comments(struct decode *d, struct wire w);
int pprof_mapping(struct decode *d, struct wire w);
int pprof_function(struct decode *d, struct wire w);
int pprof_location(struct decode *d, struct wire w);
int pprof_sample(struct decode *d, struct wire w);
/* Reads a field of the profile itself, not a row. */
int pprof_scalar(struct decode *d, const struct wire_field *f);
