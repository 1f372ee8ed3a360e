/*
 * Finds subs in processes that run a version of Perl that perl_versions.def
 * lists, built with threads, as capture/interp/interp.h says.
 *
 * A thread keeps the address of its interpreter, which has a stack of contexts.
 * A context refers to a sub. Functions written in C have no context.
 */
#pragma once

#include "capture/host/memory.h"
#include "capture/interp/interp_codes.h"
#include "perl_walk.h"

extern const struct language perl_language;

/* Roots of an image: PL_curinterp, the first interpreter of a process; and
 * PL_thr_key, the key for which threads keep theirs. */
enum { PERL_INTERPRETER, PERL_THREAD_KEY };

enum perl_version {
#define PERL(version, minor, ...) PERL_5_##minor,
#include "perl_versions.def"
#undef PERL
	PERL_VERSIONS /* one that is not known, or that has no threads */
};

/* A row of perl_versions.def. */
struct perl_version_row {
	uint16_t minor, here, names, statement;
};
extern const struct perl_version_row perl_versions[PERL_VERSIONS];

MUST_CHECK int perl_place(const struct interp_code *code,
                          const struct interp_frame *f, uint64_t *out);
MUST_CHECK int
perl_read(struct interp_codes *c, const struct interp_space *space,
          const struct interp_unread *rows, uint32_t n);
