/*
 * Adds up profiles in a child process, because they come from clients and
 * hosts: a sum that takes too much time or memory, or that crashes the child,
 * is given up, and does no other harm.
 */
#pragma once

#include "store/window.h"

struct adder {
	struct store *store;
	/* Called before each profile; false cancels the sum. */
	bool (*goes_on)(void *arg);
	void *arg;
};

/*
 * Appends the sum of the windows' profiles as a packed file, or as a bundle
 * with its parts (base/counted.h); appends nothing if none of them has samples.
 *   Errors   -EBADMSG if they cannot be added up, now or later; -ECANCELED;
 *            -errno
 */
MUST_CHECK int adder_sum(const struct adder *a, struct window_list *windows,
                         bool parts, struct buf *out);
