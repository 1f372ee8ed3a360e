/*
 * The stacks that a question is about: those below a call site, those that a
 * filter of frames lets pass, and those of spans and traces.
 *
 * A call site is the names of a stack's outermost functions. A stack passes a
 * filter if each name and regular expression to include matches one of its
 * frames, and none to exclude does. A regular expression may match any part of
 * a name.
 *
 *   Source   pkg/model of github.com/grafana/pyroscope, September 2026
 */
#pragma once

#include "endpoint/call.h"
#include "profile/sift.h"

#include <regex.h>

#define CHOSEN_MAX_FRAMES  1024 /* of a call site */
#define CHOSEN_MAX_INCLUDE 16   /* names and regular expressions */
#define CHOSEN_MAX_EXCLUDE 64

struct chosen {
	struct sift sift; /* conditions; sift_is_any() is false if there are
	                     none */
	const char **under;
	struct chosen_name {
		const char *text;
		regex_t re;
		bool is_pattern;
		uint32_t bit;
	} names[CHOSEN_MAX_INCLUDE + CHOSEN_MAX_EXCLUDE];
	size_t nnames, ninclude;
};
#define CLEANUP_CHOSEN CLEANUP(chosen_done)
void chosen_done(struct chosen *s);

/*
 * Reads the members stack_trace_selector, span_selector and trace_id_selector
 * of a message. *out borrows from it, and must not move.
 *   Errors   -1 with the reply; *out must be freed then, too
 */
MUST_CHECK int
chosen_read(struct call *c, const json_t *asked, struct chosen *out);
