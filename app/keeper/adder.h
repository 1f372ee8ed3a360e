/*
 * Adds up profiles in a child, since clients and hosts made them: one that
 * takes too much time or memory, or breaks the child, is not added up, and
 * nothing else suffers.
 */
#pragma once

#include "store/window.h"

struct adder {
	struct store *store;
	/* Asked before each profile: false to give up. */
	bool (*goes_on)(void *arg);
	void *arg;
};

/*
 * Appends the sum of the windows' profiles, as a packed file; nothing when none
 * of them has samples.
 *   Errors   -EBADMSG when they can't be added up, ever; -ECANCELED; -errno
 */
MUST_CHECK int adder_sum(const struct adder *a,
                         const struct window_list *windows, struct buf *out);
