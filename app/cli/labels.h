/* Sets members of a JSON object from options. */
#pragma once

#include "base/json.h"
#include "options.h"

/*
 * Sets a member of object to an object of the labels, if any were given.
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int labels_set(json_t *object, const char *member,
                          const char *option, const struct words *labels);
/* Takes the next of the words between commas: n bytes from *word. False at the
 * end of the list. */
bool comma_next(const char **list, const char **word, size_t *n);
/* Sets the member unless v is negative (option not given). */
void number_set(json_t *object, const char *key, int64_t v);
