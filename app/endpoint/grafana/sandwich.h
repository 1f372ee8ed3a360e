/*
 * A function between its callers and callees, as Profiles Drilldown asks for
 * it.
 *
 *   Source   pkg/model of github.com/grafana/pyroscope and
 *            SandwichApiClient.ts of github.com/grafana/profiles-drilldown,
 *            September 2026
 */
#pragma once

#include "profile/profile.h"

/*
 * Appends a SelectMergeStacktracesResponse in JSON, with the member sandwich:
 * names, and a tree of callers and one of callees with the `most` largest
 * nodes each, and those that equal the smallest of them. Below a node, a node
 * "other" that is marked as truncated has the total of children that are left
 * out. The trees have each occurrence of a function that calls itself; the
 * members total and self count every sample once.
 *
 *   Errors   -ENOMEM, -E2BIG, -EOVERFLOW
 */
MUST_CHECK int sandwich_put(const struct profile *p, const char *name,
                            uint32_t most, struct buf *out);
