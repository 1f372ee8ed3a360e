/*
 * Claims about any recorded process: a reader finds its frames again.
 * tests/data has NAME.image.gz, and the frames in NAME.txt.
 */
#pragma once

#include "base/buf.h"
#include "lib/goroutine_image.h"

typedef int recorded_frames(const struct image *m, const struct host *host,
                            int32_t pid, struct buf *out);

/* The process has the frames that it had when recorded. */
void recorded_is_read(const char *name, recorded_frames *frames);
/* Reading memory that leads back to its start soon ends in an error or in
 * other frames. */
void recorded_is_survived(const char *name, recorded_frames *frames);
