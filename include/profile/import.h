/*
 * Imports profiles that other tools took: the bytes may be hostile, in any
 * format of inputs.def, and become a profile of one of our types.
 *
 * Work and memory are bounded before they are spent: the inflated size, its
 * ratio, strings, samples, frames and what the rows take.
 */
#pragma once

#include "profile/profile.h"

/* Most frames of all samples together, with inlined ones: bounds time. */
#define IMPORT_MAX_FRAMES (1u << 25)

struct import_limits {
	size_t raw_bytes; /* inflated */
	size_t memory;    /* bytes that decoded rows may take */
	uint32_t ratio;   /* inflated by gzipped; small files may exceed it */
	uint32_t strings, samples;
};

struct import_ask {
	const char *type;         /* row of types.def */
	const char *content_type; /* of HTTP, "" unknown */
	double rate; /* samples per second, 0 unknown: converts plain sample
	                counts to CPU time */
	bool lines;  /* folded stacks without counts: a line is one sample */
	bool deltas; /* values of pprof files may be negative, as differences
	                are */
	struct import_limits limits;
};

struct input {
	const char *name;
	const char *content_types; /* words */
	const char *doc;
	bool (*looks)(const char *p, size_t n);
	int (*read)(const char *p, size_t n, const struct import_ask *ask,
	            struct profile **out, struct buf *why);
};
extern const struct input inputs[];
extern const size_t ninputs;

/*
 * Reads p[n].
 *
 *   Shape    default_type is the value that ask->type stands for
 *   Owns     *out is the caller's; profile_free() it; *format is static
 *   Errors   -EBADMSG malformed, or no values of that type; -E2BIG past a
 *            limit; -EPROTONOSUPPORT no known format; -ENOMEM, with a one-line
 *            explanation in why; outputs untouched
 */
MUST_CHECK int
profile_import(const void *p, size_t n, const struct import_ask *ask,
               struct profile **out, const struct input **format,
               struct buf *why);
/* Finds an input format by name; NULL when there is none. */
const struct input *input_find(const char *name);
/* Makes a type's values the ones that viewers show; false when the profile has
 * no such values. */
bool import_set_type(struct profile *p, const char *type);
/* Inflates a gzipped body; *raw is NULL when p is not gzipped. Readers of a
 * single format use it. Errors as profile_import() */
MUST_CHECK int
import_inflate(const void *p, size_t n, const struct import_limits *limits,
               struct buf *raw, struct buf *why);
