/*
 * Adds up profiles in a child, since clients and hosts made them: one that
 * takes too much time or memory, or breaks the child, is not added up, and
 * nothing else suffers.
 */
#pragma once

#include "store/window.h"

/*
 * Appends the sum of the windows' profiles, as a packed file; nothing when none
 * of them has samples.
 *   Errors   -EBADMSG when they can't be added up, ever; -errno
 */
MUST_CHECK int
adder_sum(struct store *s, const struct window_list *windows, struct buf *out);
