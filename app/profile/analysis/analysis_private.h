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

/* When the garbage collector came by, as goroutines' ages tell. */
struct wait_ages {
	int64_t *s; /* ascending */
	uint32_t n;
};
/*
 * Of the second profile.
 *   Owns     wait_ages_done() it
 *   Errors   -ENOMEM
 */
MUST_CHECK int wait_ages_init(const struct groups *g, struct wait_ages *out);
void wait_ages_done(struct wait_ages *ages);
/* True when it is certain that nobody of x waits for as long as limit_s. */
bool wait_ages_below(const struct wait_ages *ages, const struct group *x,
                     int64_t limit_s);

/* True when name is the row, or begins as one that ends with "...". */
bool analysis_matches(const char *row, const char *name);
/* True when a word of the list names it: "net.Dial", or "grpc.*". */
bool analysis_allowed(const char *allow, const char *name);
