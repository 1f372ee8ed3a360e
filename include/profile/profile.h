/*
 * A profile: captures produce it, the store keeps it, and every view is derived
 * from it.
 *
 * It is pprof's model in flat arrays: strings, mappings, functions, locations
 * (an address and its inlined lines), samples (a stack of locations, one value
 * per value type, labels). Rows are referred to by index; strings by id, where
 * 0 is "". A profile is built by the profile_*() calls below, which bound and
 * deduplicate, or by pprof_decode(), and is then read directly through its
 * arrays. The builder sets the scalars of struct profile itself. The first
 * mapping is taken to be the main program.
 *
 * Source: profile.proto of github.com/google/pprof.
 */
#pragma once

#include "base/buf.h"
#include "base/rows.h"
#include "profile/model/strings.h"

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_MAX_TYPES  64
#define PROFILE_MAX_FRAMES 1024 /* locations in one stack */
#define PROFILE_MAX_LINES  64   /* inlined functions at one address */
#define PROFILE_MAX_LABELS 64   /* labels of one sample */
#define PROFILE_MAX_ROWS   ROWS_MAX
#define PROFILE_NONE       UINT32_MAX

struct value_type {
	uint32_t type, unit; /* strings: "cpu", "nanoseconds" */
};

struct mapping {
	uint64_t start, limit, offset; /* addresses; offset in the file */
	uint32_t file;                 /* string: path as the target saw it */
	uint32_t build_id;             /* string: hex */
	bool has_functions, has_files, has_lines, has_inlines;
	uint8_t interpreter; /* enum language_id + 1 while a capture ends; 0:
	                        none, or not known, as in stored profiles */
};

struct function {
	uint32_t name;        /* string: demangled */
	uint32_t system_name; /* string: as in the symbol table */
	uint32_t file;        /* string: source file */
	int64_t start_line;
};

struct line {
	uint32_t function; /* index into functions */
	int64_t line;      /* 0 unknown */
};

struct location {
	uint32_t mapping; /* index into mappings, or PROFILE_NONE */
	uint64_t address; /* as in the mapping's address space */
	bool folded; /* identical code of other functions was folded into this
	                one */
	uint32_t line0, nlines; /* in lines[], innermost inlined first; none if
	                           not symbolized */
};

struct label {
	uint32_t key, str; /* strings; str 0: a number */
	int64_t num;
	uint32_t unit; /* string */
};

struct sample {
	uint32_t stack0, nstack; /* in stack[]: leaf first */
	uint32_t label0, nlabels;
};

struct profile {
	struct strings *strings;
	struct mapping *mappings;
	struct function *functions;
	struct line *lines;
	struct location *locations;
	struct sample *samples;
	uint32_t *stack; /* indexes into locations */
	int64_t *values; /* sample i: values[i * ntypes .. + ntypes) */
	struct label *labels;
	uint32_t *comments; /* strings */
	uint32_t nmappings, nfunctions, nlines, nlocations, nsamples, nstack,
		nlabels, ncomments;

	struct value_type types[PROFILE_MAX_TYPES];
	uint32_t ntypes;
	uint32_t default_type; /* string: type that viewers show first, or 0 */
	/* If another tool's file names a different type first: that type, which
	 * its pprof form keeps, and the comment that holds default_type; else
	 * 0. See profile_show(). */
	uint32_t given_type, given_note;
	uint32_t drop_frames, keep_frames; /* strings: regular expressions */
	uint32_t doc_url;                  /* string */
	struct value_type period_type;
	int64_t period;
	int64_t time_ns; /* start, since the epoch */
	int64_t duration_ns;

	struct profile_index *index; /* private: capacities and hashes; NULL in
	                                a decoded profile, which is read-only */
	void *slab; /* private: memory of all rows of a decoded profile, else
	               NULL */
	void *recut[2]; /* private: locations and stacks in place of those in
	                   the slab, or NULL */
};

/* Makes an empty profile. Returns NULL when out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *p);
DEFINE_CLEANUP(struct profile *, profile_free)
#define CLEANUP_PROFILE CLEANUP(profile_free_ptr)

/*
 * Each of these functions finds a row or adds it, and sets *out to its index.
 * Strings and indexes in a row must come from the same profile.
 *
 *   Errors   -ENOMEM; -E2BIG past PROFILE_MAX_ROWS; *out untouched
 */
MUST_CHECK int
profile_string(struct profile *p, const char *s, size_t n, uint32_t *out);
MUST_CHECK int profile_cstring(struct profile *p, const char *s, uint32_t *out);
/* Keys of the labels whose values are ids of one request, and a test for
 * them. */
#define PROFILE_LABEL_TRACE "trace_id"
#define PROFILE_LABEL_SPAN  "span_id"
bool profile_label_is_id(const char *key);
MUST_CHECK int
profile_mapping(struct profile *p, const struct mapping *m, uint32_t *out);
/* Functions are equal if name, system name and file are. */
MUST_CHECK int
profile_function(struct profile *p, const struct function *f, uint32_t *out);
/* Locations are equal if mapping, address and lines are. Also returns -E2BIG
 * past PROFILE_MAX_LINES. */
MUST_CHECK int
profile_location(struct profile *p, uint32_t mapping, uint64_t address,
                 const struct line *lines, uint32_t nlines, uint32_t *out);
/* Adds a value type, which must happen before the first sample. Returns -E2BIG
 * past PROFILE_MAX_TYPES. */
MUST_CHECK int
profile_type(struct profile *p, const char *type, const char *unit);
/*
 * Adds a comment that p does not have yet; the numbers in one of
 * profile_mark_waits() are added to those that p has.
 */
MUST_CHECK int profile_comment(struct profile *p, const char *text);
/*
 * Has viewers show a type of p first. In pprof files, the type that other tools
 * show first stays the one that p had.
 *   Errors   -ENOMEM, -E2BIG; p is unchanged
 */
MUST_CHECK int profile_show(struct profile *p, uint32_t type);
/* Reads the comment that profile_show() made; false: text is another comment.
 * It counts if it names a type that p has. */
bool profile_is_given_note(const char *text);
void profile_read_given(struct profile *p);
/* True if given_note names default_type, which has not been changed since. */
bool profile_keeps_given(const struct profile *p);
/* Marks a profile whose values show shares only: the true sum may be a multiple
 * of theirs. The mark is a comment, so that everything made of it has it. */
MUST_CHECK int profile_mark_rough(struct profile *p);
bool profile_is_rough(const struct profile *p);
/* Notes for how long the threads ran, and for how long they could have but
 * waited for a CPU, in addition to what p notes already. The mark is a comment,
 * too. */
MUST_CHECK int
profile_mark_waits(struct profile *p, int64_t ran_ms, int64_t waited_ms);
/* Returns the time in which threads ran as a part of that in which they ran or
 * were ready to run; 1 if unknown. */
double profile_ran_part(const struct profile *p);

/*
 * Adds values to the sample with this stack and these labels, which is added if
 * it is new.
 *
 *   Shape    stack[nstack] locations, leaf first; values[p->ntypes]
 *   Errors   -ENOMEM, -E2BIG past PROFILE_MAX_FRAMES, _LABELS or _ROWS,
 *            -EOVERFLOW when a sum leaves int64; p is unchanged
 */
MUST_CHECK int profile_sample(struct profile *p, const uint32_t *stack,
                              uint32_t nstack, const struct label *labels,
                              uint32_t nlabels, const int64_t *values);
/* As profile_sample(), and sets *out to the sample's row. */
MUST_CHECK int
profile_sample_row(struct profile *p, const uint32_t *stack, uint32_t nstack,
                   const struct label *labels, uint32_t nlabels,
                   const int64_t *values, uint32_t *out);

/* Returns the index of the value type with this name, or of the default type if
 * name is NULL; PROFILE_NONE if there is none. */
uint32_t profile_type_index(const struct profile *p, const char *name);
/* Adds a value, unless the sum would overflow. */
static inline void
profile_add(int64_t *sum, int64_t value)
{
	int64_t more;

	if (!__builtin_add_overflow(*sum, value, &more))
		*sum = more;
}
/* Returns the sum of the values of one type as profile_add() makes it; 0 for
 * PROFILE_NONE. */
int64_t profile_total(const struct profile *p, uint32_t type);
/* Returns the text of a string, which is valid as long as p. */
static inline const char *
profile_text(const struct profile *p, uint32_t id)
{
	return strings_get(p->strings, id, NULL);
}
/* Returns the number of frames of a location: its lines, or 1 if it is not
 * symbolized. */
static inline uint32_t
profile_frames(const struct profile *p, uint32_t location)
{
	uint32_t n = p->locations[location].nlines;

	return n ? n : 1;
}
/*
 * Appends the name of a frame: the function's name, else its system name, else
 * "module+0xoff", else "0xaddress"; never "".
 *
 *   Shape    line counts from the innermost and is below profile_frames()
 *   Units    off is the offset in the file
 */
void profile_frame_name(const struct profile *p, uint32_t location,
                        uint32_t line, struct buf *out);
/*
 * True for a location whose innermost function has a name other than its place
 * in a file, which stands in for a name in Stoker's profiles.
 */
bool profile_is_named(const struct profile *p, uint32_t location);
/* Counts which of the p->nstack locations of all stacks have a name. Returns 0
 * or -ENOMEM. */
MUST_CHECK int profile_count_named(const struct profile *p, uint32_t *out);

#define PROFILE_MAX_UNNAMED 62

/* The build-ids of programs that have frames without names. */
struct profile_unnamed {
	const char *build_ids[PROFILE_MAX_UNNAMED];
	uint32_t n;
};
/*
 * Lists them; those past PROFILE_MAX_UNNAMED are left out.
 *   Owns     texts are those of p
 *   Errors   -ENOMEM
 */
MUST_CHECK int
profile_list_unnamed(const struct profile *p, struct profile_unnamed *out);
/* Returns the last part of the mapping's path; "" if there is no mapping. */
const char *profile_module(const struct profile *p, uint32_t location);
