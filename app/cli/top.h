/*
 * Functions of a profile, the callers or callees of one, and the call tree:
 * tables made of the profile's flame graph.
 *
 * For types whose innermost frames are in allocators and locks, these frames
 * are charged to their callers (profile/site.h), except with --runtime, or if
 * an option names such a function.
 */
#pragma once

#include "cli.h"

/* True if the options ask for a view that topFunctions of a ProfileResult
 * cannot show. */
bool top_is_view(const struct options *o);
/*
 * Appends the table that the options ask for, or the same rows as JSON.
 *
 *   Shape    graph is a flame graph, as format=json; type a row of types.def
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int
top_table(json_t *graph, const char *type, const struct options *o,
          const struct screen *s, struct buf *out);
MUST_CHECK int top_json(json_t *graph, const char *type,
                        const struct options *o, json_t **out);
/* Prints plain as JSON or, if the options ask for another view, that view of
 * the flame graph at path. If plain is only topFunctions, a request for more
 * rows than it has is another view, too. Errors as top_table(). */
MUST_CHECK int top_print_json(struct cli *c, const json_t *result,
                              const json_t *plain, const char *path);
/* Fetches the flame graph at path if the type or the options need it; NULL if
 * not, or if that fails. */
json_t *top_graph(struct cli *c, const json_t *result, const char *path);
/* Appends the functions of a ProfileResult for people: from graph, whose path
 * on the server is path, or from topFunctions if graph is NULL. Errors as
 * top_table(). */
MUST_CHECK int top_of(struct cli *c, const json_t *result, const char *path,
                      json_t *graph, struct buf *out);
