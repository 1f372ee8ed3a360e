/*
 * Profiles that others took: any format of inputs.def, as bytes of a
 * stranger, becomes a profile of one of our types.
 *
 * Work and memory are bounded before they are spent: the inflated size, its
 * ratio, strings, samples, frames and what the rows take.
 */
#pragma once

#include "profile/profile.h"

/* Frames of all samples together, inlined ones too: bounds time. */
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
	double rate; /* samples per second, 0 unknown: turns samples that say
	                nothing about time into CPU time */
	bool lines;  /* folded stacks without counts: a line is one sample */
	bool deltas; /* values of pprof files may be negative: what is less
	                than before */
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
 *            limit; -EPROTONOSUPPORT in no format that we know; -ENOMEM; one
 *            line for a person in why; outputs untouched
 */
MUST_CHECK int
profile_import(const void *p, size_t n, const struct import_ask *ask,
               struct profile **out, const struct input **format,
               struct buf *why);
/* The only row of its name, or NULL. */
const struct input *input_find(const char *name);
/* Makes the values of a type those that viewers show; false: it has none. */
bool import_set_type(struct profile *p, const char *type);
/* A gzipped body inflated, or NULL in *raw when p is not gzipped: for
 * readers of one format. Errors as profile_import(). */
MUST_CHECK int
import_inflate(const void *p, size_t n, const struct import_limits *limits,
               struct buf *raw, struct buf *why);
