/*
 * Values of functions, in addition to their shares: bytes of memory, or time
 * spent waiting.
 *
 * A ProfileResult has percentages only. The flame graph of the profile
 * (format=json) has the values (graph.h).
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

/* Sets a member to a value for people: "2.50 MiB", "0". */
void
value_set(json_t *object, const char *key, int64_t value, const char *unit);
/* True for types that a program counts itself, such as memory: their samples
 * mean little without values. */
bool values_wanted(const char *type);
/* True for types whose stacks end in an allocator, a lock or a system call. */
bool values_have_sites(const char *type);
