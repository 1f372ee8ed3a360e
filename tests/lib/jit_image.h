/*
 * A recording of a process with JIT-compiled functions, in the form of
 * goroutine_image.h: in place of its executable, the language's addresses and
 * the frames about which it was asked, and the memory that was read, including
 * stacks.
 */
#pragma once

#include "base/buf.h"
#include "capture/jit/jit.h"
#include "lib/goroutine_image.h"

#define JIT_IMAGE_DATA 256 /* bytes of a language's addresses */

/* A frame at which native unwinding stopped. */
struct jit_image_frame {
	uint64_t pc, sp, fp;
	uint64_t fp_known, interrupted;
	uint64_t has_regs, regs[UNWIND_REGS];
};

/* Stored in place of the executable; frames[n] follow. */
struct jit_image_head {
	uint64_t jit, start, end, n;
	uint8_t data[JIT_IMAGE_DATA];
};

/*
 * Asks the language about each frame and those to which it leads. Writes a
 * line for each: the distance to its caller, and its functions.
 *
 *   Errors   -EBADMSG no such language, those of attach
 */
MUST_CHECK int jit_image_frames(const struct image *m, const struct host *host,
                                int32_t pid, struct buf *out);
