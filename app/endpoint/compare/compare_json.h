/*
 * How replies show a comparison.
 */
#pragma once

#include "profile/compare.h"

/* Writes the list of functions with this change. */
void
compare_json_changes(struct buf *out, const char *key,
                     const struct comparison *c, enum compare_change change);
/* Writes the list of functions that decided the verdict. */
void compare_json_deciding(struct buf *out, const char *key,
                           const struct comparison *c);
/* Writes the list of functions whose total rose. */
void compare_json_risen(struct buf *out, const struct comparison *c);
/* Writes verdict, overall delta and method. */
void compare_json_verdict(struct buf *out, const struct comparison *c);
