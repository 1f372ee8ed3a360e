/*
 * Decodes the bulk of a pprof file: the locations of samples, packed varints.
 */
#pragma once

#include "idmap.h"
#include "wire.h"

/*
 * Writes the rows of all ids in w, which the caller has counted.
 *
 *   Shape    memory after w may be read up to limit
 *   Errors   returns the number of ids; -EBADMSG; -ENOENT for an id without a
 *            row
 */
MUST_CHECK int pprof_frames(struct wire w, const uint8_t *limit,
                            const struct idmap *ids, uint32_t *rows);
