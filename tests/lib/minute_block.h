/*
 * Makes a block as a host sends it (store/block.h): minutes of services
 * bench0, bench1, ..., with cpu windows whose bytes are noise.
 */
#pragma once

#include "base/buf.h"

#define MINUTE_BLOCK_BYTES ((size_t)3000) /* bytes of a window */

/*
 * Replaces *out with a block of one fresh minute, or of the minutes of an hour.
 *
 *   Shape    minutes is 1 or 60; *random is the state of random_next()
 *   Units    start_ms is the start of the minute or hour
 */
void minute_block(const char *tenant, int services, int minutes,
                  int64_t start_ms, uint64_t *random, struct buf *out);
