/*
 * Imports profiles that other tools captured. The bytes, in any format of
 * inputs.def, may be hostile. They become a profile of a type of types.def;
 * values.def beside the readers says to which types their values belong.
 *
 * Work and memory are bounded before they are spent: the inflated size and its
 * ratio, strings, samples, frames, and the memory of the rows.
 */
#pragma once

#include "profile/types.h"

/* Most frames of all distinct stacks together, inlined ones included; bounds
 * time. All samples of a file may have as many, or a frame for each byte of the
 * largest file. */
#define IMPORT_MAX_FRAMES (1u << 25)

/* An executable mapping of a recorded process. */
struct import_code {
	uint64_t start, end, offset; /* addresses; offset in the file */
	const char *path;
	const char *build_id; /* hexadecimal; "" unknown */
};

#define IMPORT_REGS 33 /* indexed as in asm/perf_regs.h */

/* A stack that a recording has as registers and a copy of memory. */
struct import_stack {
	uint16_t machine; /* EM_*; 0 unknown */
	uint64_t regs[IMPORT_REGS];
	const void *bytes; /* from the stack pointer upwards */
	size_t n;
	uint64_t space; /* differs for stacks with different mappings */
	/* Finds the mapping with an address. */
	bool (*find)(const void *arg, uint64_t address,
	             struct import_code *out);
	const void *arg;
};

/* Finds the frames of such stacks. */
struct import_unwinder {
	/* Returns the number of addresses in pcs, leaf first; all but the first
	 * are return addresses. */
	size_t (*unwind)(void *arg, const struct import_stack *stack,
	                 uint64_t *pcs, size_t max);
	void *arg;
};

struct import_limits {
	size_t raw_bytes; /* inflated */
	size_t memory;    /* bytes that decoded rows may take */
	uint32_t
		ratio; /* of inflated to compressed size; small files may exceed
	                     it */
	uint32_t strings, samples;
	/* Called with the size of a file that was compressed, before it is
	 * read; NULL: nothing is. A value other than 0 ends the import with
	 * -ECANCELED. */
	int (*inflated)(void *arg, size_t bytes);
	void *arg;
};

struct import_ask {
	const char *type;         /* row of types.def; "": the file's */
	const char *format;       /* row of inputs.def; NULL or "": found by
	                             the first bytes */
	const char *content_type; /* of HTTP; "" if unknown */
	const char *event; /* of perf script or callgrind: the one to keep, with
	                      or without modifiers; NULL or "": its first */
	double rate; /* samples per second, converts sample counts to CPU time;
	                0 if unknown */
	bool lines;  /* folded stacks have no counts: each line is one sample */
	bool deltas; /* values of pprof files may be negative, as in differences
	              */
	bool no_patterns; /* a pprof file with patterns of frames to drop ends
	                     with -ENOTSUP, since the file chooses these regular
	                     expressions */
	bool untyped;     /* without a type, files that have none are read, too;
	                 *type is NULL then */
	bool *as_is;      /* NULL, or set to true if the bytes are a pprof file
	                that is read as it is: nothing was converted or
	                dropped */
	/* For recordings of perf with copies of stacks, which are refused
	 * without it. */
	const struct import_unwinder *unwinder; /* or NULL */
	struct import_limits limits;
};

struct input {
	const char *name;
	const char *content_types; /* words */
	const char *doc;
	bool (*looks)(const char *p, size_t n);
	/* Errors are those of profile_import(); -ENODATA: the file is a
	 * recording of several types, but not of ask->type. */
	int (*read)(const char *p, size_t n, const struct import_ask *ask,
	            struct profile **out, struct buf *why);
};
extern const struct input inputs[];
extern const size_t ninputs;

/*
 * Reads p[n].
 *
 *   Shape    default_type of the profile is the value type of *type, which is
 *            ask->type or else import_choose()'s
 *   Owns     *out is the caller's; profile_free() it; *format and *type are
 *            static
 *   Errors   -EBADMSG malformed, or no values of that type; -E2BIG past a
 *            limit; -EPROTONOSUPPORT no known format; -ENOMEM, with a one-line
 *            explanation in why; -ECANCELED; outputs untouched. On success why
 *            has a line for each note: what the profile leaves out
 */
MUST_CHECK int
profile_import(const void *p, size_t n, const struct import_ask *ask,
               struct profile **out, const struct input **format,
               const struct type **type, struct buf *why);
/* Finds the format of a file by its first bytes; NULL if none is known. */
const struct input *input_detect(const char *p, size_t n);
/* Finds an input format by name; NULL if there is none. */
const struct input *input_find(const char *name);
/*
 * Converts times to nanoseconds and sizes to bytes.
 *   Errors   -EBADMSG a value leaves 64 bits, with the reason in why; -ENOMEM
 */
MUST_CHECK int import_units(struct profile *p, struct buf *why);
/* True if import_units() would change nothing. */
bool import_units_are_ours(const struct profile *p);
/*
 * Returns the types to which a value of a profile may belong, as bits by enum
 * profile_type_id; 0 if there are none, or the value is unknown. name is
 * another name of the value, or NULL.
 */
uint32_t
import_value_types(const struct profile *p, uint32_t at, const char *name);
/* Returns the type that is taken if several fit; NULL for 0. */
const struct type *import_first_type(uint32_t types);
/* Finds the type of an application whose name ends with a dot and this name:
 * NULL if no type shows such values. Returns false if the name is unknown. */
bool import_type_of_end(const char *name, const struct type **out);
/*
 * Chooses the type whose values viewers show first: the type that is asked for,
 * if the file fits it, or, if asked is "", the file's default or else first
 * type. A file with only unknown values fits a type whose unit it has. If asked
 * is NULL, *out is NULL for a file of no type, whose values stay as they are.
 *   Errors   -EBADMSG it has no values of such a type, with its types in why
 */
MUST_CHECK int import_choose(struct profile *p, const char *asked,
                             const struct type **out, struct buf *why);
/* Inflates a body that is compressed with gzip or zstd, for readers of a single
 * format. Leaves raw empty if p is neither. Errors are those of
 * profile_import(). */
MUST_CHECK int
import_inflate(const void *p, size_t n, const struct import_limits *limits,
               struct buf *raw, struct buf *why);
