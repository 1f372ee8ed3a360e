/* Options as members of a JSON object. */
#pragma once

#include "base/json.h"
#include "options.h"

/*
 * Sets "labels" of object when any were given.
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int labels_set(json_t *object, const struct words *labels);
/* Sets a member when its option was given: is not negative. */
void number_set(json_t *object, const char *key, int64_t v);
