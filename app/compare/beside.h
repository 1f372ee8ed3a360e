/*
 * A thread that reads the second side of a comparison while the caller reads
 * the first.
 */
#pragma once

#include "compare/compared.h"

struct beside;

/* Removes the samples of a profile that `only` does not select, and makes the
 * tree of its functions. */
MUST_CHECK int
beside_pick(const struct sift *only, struct profile *p, struct tree **out);
/* Starts to read the profile of x->now. Returns NULL if that is not worth a
 * thread, or if there is none. */
struct beside *beside_new(const struct compared *x);
/* Waits for the profile and its tree; false if they could not be read, for
 * whatever reason. They are the caller's. */
bool beside_take(struct beside *b, struct profile **out_p, struct tree **out_t);
/* Waits for the thread. */
void beside_free(struct beside *b);
