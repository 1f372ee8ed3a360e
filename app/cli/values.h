/*
 * Values of functions beside their shares: bytes of memory, time of waiting.
 *
 * A ProfileResult has percentages only. The same profile as a flame graph
 * (format=json) has the values, node by node in the order of a walk from the
 * root.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

/* Sets a member to a value as people read it: "2.50 MiB", "0". */
void
value_set(json_t *object, const char *key, int64_t value, const char *unit);
/* Members that values_put() sets in each of the top functions. */
#define VALUE_SELF  "selfText"
#define VALUE_TOTAL "totalText"

/* True for types that a program counts by itself, such as memory: a sample of
 * theirs says little without its value. */
bool values_wanted(const char *type);
/*
 * Sets the values of all top functions, as people read them.
 *   Errors   false when the graph is no flame graph; nothing is set then
 */
bool values_put(json_t *functions, const json_t *graph);
