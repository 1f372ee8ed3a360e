/*
 * What the readers of text formats share: a profile being built, with the
 * limits of the one who asked.
 *
 *   Errors   of each call: -EBADMSG, -E2BIG, -ENOMEM, with the reason in why
 */
#pragma once

#include "profile/import.h"

#define INPUT(name, content_types, doc)                       \
	bool input_##name##_looks(const char *p, size_t n);   \
	int input_##name##_read(const char *p, size_t n,      \
	                        const struct import_ask *ask, \
	                        struct profile **out, struct buf *why);
#include "inputs.def"
#undef INPUT

struct import {
	const struct import_ask *ask;
	struct buf *why;
	struct profile *p;
	uint64_t frames;
	bool counts;  /* the first value of a sample counts samples */
	bool plain;   /* as the values as written do */
	double scale; /* from a value as written to ours; 0: there is none */
	/* of the stack being read, leaf first */
	uint32_t stack[PROFILE_MAX_FRAMES], depth;
};

/* A frame as a format names it; empty parts are unknown. */
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
 * Says what values are, before the first sample: "" plain numbers, or a unit
 * of time, or "bytes". Plain numbers of a cpu profile are samples; of others
 * they are in the type's own unit.
 */
MUST_CHECK int import_unit(struct import *im, const char *unit);
/* Finds or adds the location of a frame. */
MUST_CHECK int
import_location(struct import *im, const struct import_frame *f, uint32_t *out);
/* Adds a frame at the root's end of the stack. */
MUST_CHECK int import_push(struct import *im, uint32_t location);
/* Adds the stack as a sample, and begins another. */
MUST_CHECK int import_sample(struct import *im, const struct label *labels,
                             uint32_t nlabels, int64_t count, double value);
/* The reason for a refusal. */
int import_bad(struct import *im, const char *why);
int import_big(struct import *im, const char *why);
/* Checks and hands over what was built. */
MUST_CHECK int import_end(struct import *im, struct profile **out);

/* The index of the values that a type stands for; PROFILE_NONE. */
uint32_t import_type_of(const struct profile *p, const char *type);
/* The line at *p, without its end; false at the end of the text. */
bool import_line(const char **p, const char *end, const char **line, size_t *n);
