/* --label K=V as a JSON object. */
#pragma once

#include "base/json.h"
#include "options.h"

/*
 * Sets "labels" of object when any were given.
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int labels_set(json_t *object, const struct words *labels);
