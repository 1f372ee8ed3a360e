/*
 * A good request for any row of routes.def, made of the rows of params.def.
 */
#pragma once

#include "base/json_out.h"
#include "endpoint/call/tables.h"
#include "lib/api.h"

#define EACH_ROUTE(r) \
	for (const struct route *r = routes; r < routes + OP_COUNT; r++)
#define EACH_PARAM(p) \
	for (const struct param_row *p = params; p < params + P_COUNT; p++)

/* Ids of things that exist, for paths; NULL: none. */
extern const char *good_baseline, *good_goroutines, *good_trigger, *good_join;

/* A request that is good in every way; path and body may be changed. */
struct good {
	struct buf path, body;
	struct ask ask;
};
#define CLEANUP_GOOD CLEANUP(good_done)

/* Makes a good request of an admin; profile is the id where
 * the path has one. */
struct good good_ask(const struct route *r, const char *profile);
void good_done(struct good *g);
/* Appends the least query that the route takes; bad has value instead, or is
 * missing where that is NULL. */
void query_of(const struct route *r, const char *profile,
              const struct param_row *bad, const char *value, struct buf *out);
/* The least body that the route takes; bad has value instead, or is missing
 * where that is NULL. */
void body_of(const struct route *r, const struct param_row *bad,
             const char *value, struct buf *out);
