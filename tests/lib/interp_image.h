/*
 * A recording of a process that runs an interpreter, as in goroutine_image.h,
 * but with the interpreter's addresses instead of the executable, and the
 * memory that was read to walk its threads and name their frames.
 */
#pragma once

#include "base/buf.h"
#include "capture/interp/interp.h"
#include "lib/goroutine_image.h"

struct walk_self;

/* Puts the interpreter's addresses into a recording, and the registers of the
 * thread to record, or NULL if the process has a list of its threads.
 *   Errors   -ENOMEM */
MUST_CHECK int
interp_image_begin(struct image *m, const struct interp_image *of,
                   uint64_t bias, const struct walk_self *self);
/*
 * Writes the stack of each thread, its innermost frame first, and a line of
 * dashes after each frame for which C called the interpreter.
 *
 *   Shape    m has the interpreter's addresses; the host reads the memory
 *   Errors   those of struct language, -EBADMSG no such language
 */
MUST_CHECK int
interp_image_frames(const struct image *m, const struct host *host, int32_t pid,
                    struct buf *out);
