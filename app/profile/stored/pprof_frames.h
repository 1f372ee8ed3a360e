/*
 * The bulk of a pprof file: ids of locations, packed as varints.
 */
#pragma once

#include "idmap.h"
#include "wire.h"

/*
 * Writes the rows of all ids in w, which the caller has counted.
 *
 *   Shape    bytes behind w can be read up to limit
 *   Errors   returns their number; -EBADMSG, -ENOENT for an id without a row
 */
MUST_CHECK int pprof_frames(struct wire w, const uint8_t *limit,
                            const struct idmap *ids, uint32_t *rows);
