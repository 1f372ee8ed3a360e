/* What analysis.c and its rules share. */
#pragma once

#include "profile/analysis.h"

/* A stack in any state and at any line, then and now. */
struct history {
	uint32_t stack; /* the same for groups of the same stack */
	int64_t before, now;
	double known, survived; /* the base's goroutines whose numbers are
	                           told, and those that are still there */
};

/*
 * Of every group of a; fills a->base_count.
 *   Owns     *out is the caller's; free() it
 */
MUST_CHECK int
analysis_history(struct analysis *a, const struct profile *p,
                 const struct profile *base, struct history **out);
/* Fills suspects. */
MUST_CHECK int
analysis_suspects(struct analysis *a, const struct history *history,
                  const struct leak_limits *limits);
/* True when name is the row, or begins as one that ends with "...". */
bool analysis_matches(const char *row, const char *name);
/* True when a word of the list names it: "net.Dial", or "grpc.*". */
bool analysis_allowed(const char *allow, const char *name);
