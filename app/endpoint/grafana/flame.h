/*
 * Flame graphs in Pyroscope's form: a level for each depth, with four numbers
 * for each node: the distance from the end of the node to its left, total,
 * self, and the place of its name.
 *
 *   Source   pkg/model/flamegraph.go of github.com/grafana/pyroscope 2.2
 */
#pragma once

#include "profile/profile.h"

/*
 * Appends the fields of a FlameGraph (messages.def) of a profile: the `most`
 * nodes with the largest totals, and those that equal the smallest of them.
 * Below a node, a node "other" has the total of children that are left out.
 *
 *   Shape    may have fewer nodes than `most` if the profile has very many
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int
flame_put(const struct profile *p, uint32_t most, struct buf *out);
/* Appends the fields of a FlameGraphDiff of two profiles of one type: levels
 * have both sides' numbers before the place of the name. */
MUST_CHECK int flame_put_diff(const struct profile *const p[static 2],
                              uint32_t most, struct buf *out);
