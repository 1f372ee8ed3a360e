/*
 * Builds a profile for readers of text formats, within the limits of the
 * import.
 *
 *   Errors   each function returns -EBADMSG, -E2BIG or -ENOMEM, with the reason
 *            in why
 */
#pragma once

#include "base/json_scan.h"
#include "profile/import.h"

#define IMPORT_NEGATIVE \
	"a sample has a negative value: this is a difference of two profiles"

#define INPUT(name, content_types, doc)                       \
	bool input_##name##_looks(const char *p, size_t n);   \
	int input_##name##_read(const char *p, size_t n,      \
	                        const struct import_ask *ask, \
	                        struct profile **out, struct buf *why);
#include "inputs.def"
#undef INPUT

#define IMPORT_QUOTE 64 /* bytes of a text that messages quote */

/* Lines that a reader passed over, and the first of them. */
struct import_skipped {
	uint64_t lines, first;   /* how many; number of the first, from 1 */
	char text[IMPORT_QUOTE]; /* beginning of the first */
};

/* Frames of all stacks in the file, and of its distinct stacks. */
struct import_frames {
	uint64_t read, kept;
};

struct import {
	const struct import_ask *ask;
	struct buf *why;
	struct profile *p;
	struct import_frames frames;
	uint64_t line; /* number of the current line, from 1; 0 before it */
	struct import_skipped skipped;
	const char *unit; /* of types.def, "" for plain numbers; NULL: not yet
	                     known */
	double factor;    /* converts this part's values to the first part's */
	bool uncounted; /* set before import_unit(): values with a unit have no
	                   numbers of samples */
	bool counts;    /* the first value counts samples */
	bool plain;     /* values in the file are numbers of samples, too */
	double scale; /* converts values of the file to ours; 0 if not yet known
	               */
	double *sums; /* sums of the file's values, by sample */
	uint32_t nsums; /* room for them */
	bool fractions; /* a value is not whole, in the file or as converted */
	uint32_t row;   /* row of the sample that was added last */
	uint64_t cut;   /* samples whose stacks lost frames */
	bool deep;      /* the current stack has lost frames */
	/* the current stack, leaf first */
	uint32_t stack[PROFILE_MAX_FRAMES], depth;
};

/* A frame in the file; empty parts are unknown. */
struct import_frame {
	const char *name, *module, *file;
	size_t nname, nmodule, nfile;
	int64_t line;
	uint64_t address;
};

MUST_CHECK int
import_init(struct import *im, const struct import_ask *ask, struct buf *why);
void import_done(struct import *im);
/*
 * Sets the unit of values, before the first sample: "" for plain numbers, a
 * unit of time or of bytes. Plain numbers count samples if the type is
 * sampled; otherwise they are in the type's unit. Later calls, for other parts
 * of the file, may only change between units of one kind.
 */
MUST_CHECK int import_unit(struct import *im, const char *unit);
/* Finds or adds the function that a frame names. */
MUST_CHECK int
import_function(struct import *im, const struct import_frame *f, uint32_t *out);
/* Finds or adds the location of a frame. */
MUST_CHECK int
import_location(struct import *im, const struct import_frame *f, uint32_t *out);
/* Refuses a profile with too many names. Returns 0 or -E2BIG. */
MUST_CHECK int import_check_names(struct import *im);
/* Adds a frame at the root end of the current stack. */
MUST_CHECK int import_push(struct import *im, uint32_t location);
/* True if the current stack has as many frames as a profile keeps. Further
 * frames, towards the root, are then noted as left out. */
bool import_full(struct import *im);
/* Adds the current stack as a sample, and starts a new stack. Fractions are
 * rounded by import_end(), when all values of a stack have been added. */
MUST_CHECK int import_sample(struct import *im, const struct label *labels,
                             uint32_t nlabels, int64_t count, double value);
/* As import_sample(), with values of all types of the profile. */
MUST_CHECK int import_values(struct import *im, const struct label *labels,
                             uint32_t nlabels, const int64_t *values);
/*
 * As import_sample(), for a further sample with the stack and labels of a row
 * that was added before.
 */
MUST_CHECK int import_sample_again(struct import *im, uint32_t row,
                                   int64_t count, double value);
MUST_CHECK int
import_values_again(struct import *im, uint32_t row, const int64_t *values);
/* Sets the reason for a refusal, after the notes, unless there is a reason
 * already. Returns -EBADMSG. */
int import_bad(struct import *im, const char *why);
/*
 * Sets why, unless it is set, to the error in the JSON p[n] at the scanner's
 * position. Returns -EBADMSG, or -E2BIG if it is nested too deep.
 */
int import_bad_json(struct buf *why, const char *what,
                    const struct json_scan *s, const char *p, size_t n);
/* Takes the next line, as import_line(), and counts it. */
bool import_next(struct import *im, const char **p, const char *end,
                 const char **line, size_t *n);
/* Passes over the current line, which the reader does not understand. */
void import_skip(struct import *im, const char *line, size_t n);
/* Appends a note about what was left out. */
void import_note(struct import *im, const char *note);
/* Notes samples whose stacks lost frames, if there are any. */
void import_note_cut(uint64_t samples, struct buf *why);
/* Refuses a file past a limit, and names its key in [upload]. Returns
 * -E2BIG. */
int import_over(struct import *im, const char *what, uint64_t most,
                const char *key);
/* Refuses a stack past PROFILE_MAX_FRAMES. Returns -E2BIG. */
int import_deep(struct import *im);
/*
 * Checks the profile and returns it in *out, with a note about lines that were
 * passed over. If rounding would remove more than a hundredth of all cost, as
 * it does when the values are seconds or percent, the values are multiplied by
 * a power of 1000, and their unit becomes "thousandths", "millionths" or
 * "billionths"; they count no samples then.
 */
MUST_CHECK int import_end(struct import *im, struct profile **out);

/* Returns the unit of types.def for a unit of another tool, and the factor;
 * NULL: unknown. */
const char *import_unit_find(const char *unit, int64_t *scale);
/* Removes the frames that a pprof file asks to hide; appends a note if its
 * patterns can't be used. Returns 0 or -ENOMEM. */
MUST_CHECK int import_drop(struct profile *p, struct buf *why);
/* True if most lines look like folded stacks, but do not end with counts. */
bool import_has_bare_stacks(const char *p, size_t n);
/* Copies the beginning of a text for a message. */
void import_quote(const char *p, size_t n, char out[static IMPORT_QUOTE]);
/* Passes over blanks and line ends at the start of a text. */
void import_skip_blanks(const char **p, size_t *n);
/* Refuses distinct stacks that have more than IMPORT_MAX_FRAMES together.
 * Returns 0 or -E2BIG. */
MUST_CHECK int import_check_frames(uint64_t frames, struct buf *why);
/* Takes the next line, without its line feed. Returns false at the end. */
bool import_line(const char **p, const char *end, const char **line, size_t *n);
