/*
 * A recording of a process whose functions were compiled at run time, in the
 * form of goroutine_image.h: the language's addresses and the frames that it
 * was asked about in place of its executable, and the memory that was read of
 * the process, its stacks included.
 */
#pragma once

#include "base/buf.h"
#include "capture/jit/jit.h"
#include "lib/goroutine_image.h"

#define JIT_IMAGE_DATA 256 /* bytes of a language's addresses */

/* A frame that was met in native code's place. */
struct jit_image_frame {
	uint64_t pc, sp, fp;
	uint64_t fp_known, interrupted;
	uint64_t has_regs, regs[UNWIND_REGS];
};

/* Takes the place of the executable; frames[n] follow. */
struct jit_image_head {
	uint64_t jit, start, end, n;
	uint8_t data[JIT_IMAGE_DATA];
};

/*
 * Asks the language about each frame, and those it leads to: writes a line for
 * each, how far its caller is, and its functions.
 *
 *   Errors   -EBADMSG no such language, those of attach
 */
MUST_CHECK int jit_image_frames(const struct image *m, const struct host *host,
                                int32_t pid, struct buf *out);
