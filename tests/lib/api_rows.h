/*
 * A valid request for any row of routes.def, made from the rows of params.def.
 */
#pragma once

#include "base/json_out.h"
#include "endpoint/call/tables.h"
#include "lib/api.h"

#define EACH_ROUTE(r) \
	for (const struct route *r = routes; r < routes + OP_COUNT; r++)
#define EACH_PARAM(p) \
	for (const struct param_row *p = params; p < params + P_COUNT; p++)

/* Ids of existing things, for paths; NULL: none. */
extern const char *good_baseline, *good_goroutines, *good_trigger, *good_join;

/* A valid request; path and body may be changed. */
struct good {
	struct buf path, body;
	struct ask ask;
};
#define CLEANUP_GOOD CLEANUP(good_done)

/* Makes an admin's valid request; profile is the id for paths. */
struct good good_ask(const struct route *r, const char *profile);
void good_done(struct good *g);
/* Appends the shortest query that the route accepts. The parameter bad gets
 * value instead; NULL: it is missing. */
void query_of(const struct route *r, const char *profile,
              const struct param_row *bad, const char *value, struct buf *out);
/* Appends the shortest body that the route accepts. The parameter bad gets
 * value instead; NULL: it is missing. */
void body_of(const struct route *r, const struct param_row *bad,
             const char *value, struct buf *out);
