/*
 * A listing: the text of the source lines that have a cost in a profile, and
 * the instructions of its costliest functions.
 *
 * The worker reads both when a capture ends, if the service's owner allows it,
 * so that they are those that ran. The listing is stored with the profile (blob
 * kind BLOB_LISTING). It has no costs: those are in the profile, by line and by
 * address.
 *
 *	listing_decode(p, n, &l)
 *	for each l->files[i]: l->lines[f->line0 .. + f->nlines)
 *	for each l->functions[i]: l->code[f->code0 .. + f->ncode)
 *
 * The file is gzipped protocol buffers:
 *
 *	message Listing {
 *	  uint64 version = 1;              // 1
 *	  repeated string string = 2;      // by id; the first is ""
 *	  repeated File file = 3;          // File { path = 1; state = 2;
 *	                                   //   build_id = 3; }
 *	  repeated Line line = 4;          // Line { number = 1; text = 2; }
 *	  repeated Function function = 5;  // Function { name = 1; module = 2;
 *	                                   //   build_id = 3; start = 4; }
 *	  repeated Instruction code = 6;   // Instruction { address = 1;
 *	                                   //   text = 2; function = 3;
 *	                                   //   file = 4; line = 5; size = 6; }
 *	}
 *
 * A line belongs to the last file before it, an instruction to the last
 * function. Texts are ids of strings. Unknown fields are skipped; other
 * versions are refused.
 */
#pragma once

#include "base/buf.h"
#include "profile/profile.h"

#include <stdint.h>

#define LISTING_VERSION       1
#define LISTING_MAX_FILES     64
#define LISTING_MAX_LINES     20000
#define LISTING_MAX_FUNCTIONS 128
#define LISTING_MAX_CODE      20000             /* instructions */
#define LISTING_MAX_TEXT      400               /* bytes of one line */
#define LISTING_MAX_BYTES     ((size_t)4 << 20) /* inflated */
#define LISTING_MAX_FILE      ((size_t)2 << 20) /* of the stored file */

/* The outcome of the attempt to read a source file. */
enum listing_state {
	LISTING_READ,
	LISTING_NEWER,   /* read, but it has changed since the program was
	                    built or, if it is interpreted, started */
	LISTING_MISSING, /* the process has no such file */
	LISTING_REFUSED, /* not a regular file of text that the process's user
	                    may read, too large, or its file system did not
	                    answer */
	LISTING_STATES
};

/* Texts are strings of the listing. */
struct listing_file {
	uint32_t path;     /* as the profile has it */
	uint32_t build_id; /* of the program or library; hexadecimal, "" of a
	                      script */
	uint32_t state;
	uint32_t line0, nlines; /* in lines[]; by number */
};

struct listing_line {
	uint32_t number; /* counts from 1 */
	uint32_t text;   /* cut at LISTING_MAX_TEXT bytes */
};

struct listing_function {
	uint32_t name;             /* that of the whole function: others may be
	                              inlined in it */
	uint32_t module, build_id; /* path; hexadecimal */
	uint64_t start;            /* address of its first instruction */
	uint32_t code0, ncode;     /* in code[]; by address */
};

struct listing_code {
	uint64_t address; /* as in the profile's locations */
	uint32_t size;    /* bytes */
	uint32_t text;
	uint32_t function, file; /* innermost inlined function */
	uint32_t line;           /* 0: not known */
};

/* Read the arrays directly; add rows with the functions below, which bound
 * their number. */
struct listing {
	struct strings *strings;
	struct listing_file *files;
	struct listing_line *lines;
	struct listing_function *functions;
	struct listing_code *code;
	uint32_t nfiles, nlines, nfunctions, ncode;
	uint32_t files_cap, lines_cap, functions_cap, code_cap;
};

/* The listing of a profile, or one of another capture of the same service. */
struct listing_source {
	struct listing *l;
	const char *id; /* the other capture; NULL: the profile's own */
	int64_t time_ms;
};

/* Returns NULL when out of memory. */
struct listing *listing_new(void);
void listing_free(struct listing *l);
DEFINE_CLEANUP(struct listing *, listing_free)
#define CLEANUP_LISTING CLEANUP(listing_free_ptr)

/*
 * Each of these functions appends a row; the place and number of what belongs
 * to a file or function are set by the rows that follow it.
 *
 *   Errors   -ENOMEM, -E2BIG past LISTING_MAX_*; l is unchanged
 */
MUST_CHECK int listing_file(struct listing *l, const struct listing_file *row);
MUST_CHECK int listing_line(struct listing *l, const struct listing_line *row);
MUST_CHECK int
listing_function(struct listing *l, const struct listing_function *row);
MUST_CHECK int listing_code(struct listing *l, const struct listing_code *row);

/*
 * Appends l as a gzipped file; out bounds the size.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int listing_encode(const struct listing *l, struct buf *out);
/*
 * Decodes a listing, which may be hostile: texts exist, numbers of lines and
 * addresses ascend.
 *
 *   Owns     *out is the caller's; listing_free() it
 *   Errors   -EBADMSG malformed, -EPROTONOSUPPORT another version, -E2BIG past
 *            a bound, -ENOMEM; *out untouched
 */
MUST_CHECK int listing_decode(const void *p, size_t n, struct listing **out);
