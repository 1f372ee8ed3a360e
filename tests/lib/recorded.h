/*
 * Claims about any recorded process: a reader finds its frames again.
 * tests/data has NAME.image.gz and, as NAME.txt, the frames.
 */
#pragma once

#include "base/buf.h"
#include "lib/goroutine_image.h"

typedef int recorded_frames(const struct image *m, const struct host *host,
                            int32_t pid, struct buf *out);

/* The process has the frames it had when it was recorded. */
void recorded_is_read(const char *name, recorded_frames *frames);
/* Memory that leads back to its own start ends in an error or in other frames,
 * and soon. */
void recorded_is_survived(const char *name, recorded_frames *frames);
