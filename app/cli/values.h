/*
 * Values of functions, in addition to their shares: bytes of memory, time spent
 * waiting.
 *
 * A ProfileResult has percentages only. The flame graph of the profile
 * (format=json) has the values, node by node in preorder.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

/* Sets a member to a value for people: "2.50 MiB", "0". */
void
value_set(json_t *object, const char *key, int64_t value, const char *unit);
/* Members that values_put() sets in each of the top functions. */
#define VALUE_SELF  "selfText"
#define VALUE_TOTAL "totalText"

/* True for types that a program counts itself, such as memory: their samples
 * mean little without values. */
bool values_wanted(const char *type);
/*
 * Sets the values of all top functions, for people. Returns false, and sets
 * nothing, if graph is not a flame graph.
 */
bool values_put(json_t *functions, const json_t *graph);
