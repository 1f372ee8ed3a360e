/*
 * Finds subs in processes that run a version of Perl that perl_versions.def
 * lists, as capture/interp/interp.h says.
 *
 * A thread keeps the address of its interpreter, which has a stack of contexts;
 * a Perl without threads has one such stack. A context refers to a sub.
 * Functions written in C have no context.
 */
#pragma once

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "perl_walk.h"

extern const struct language perl_language;

/* Roots of an image: PL_curinterp, the first interpreter of a process, and
 * PL_thr_key, the key for which threads keep theirs; or, without threads,
 * PL_curcop and PL_curstackinfo. */
enum { PERL_INTERPRETER, PERL_THREAD_KEY, PERL_CURCOP, PERL_CURSTACKINFO };

enum perl_version {
#define PERL(version, minor, ...) PERL_5_##minor,
#include "perl_versions.def"
#undef PERL
	PERL_VERSIONS /* one that is not known */
};

/* A row of perl_versions.def. */
struct perl_version_row {
	uint16_t minor, here, names, statement;
};
extern const struct perl_version_row perl_versions[PERL_VERSIONS];

/* True for a Perl without threads. */
static inline bool
perl_has_variables(const struct interp_image *image)
{
	return !image->roots[PERL_THREAD_KEY];
}

MUST_CHECK int perl_place(const struct interp_code *code,
                          const struct interp_frame *f, uint64_t *out);
MUST_CHECK int
perl_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n);
