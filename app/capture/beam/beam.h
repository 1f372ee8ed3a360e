/*
 * Erlang: functions that the BEAM of OTP 25 to 27 has compiled, on x86-64.
 *
 * Their frames are on the stack of their Erlang process, where the stack
 * pointer points while they run. Its words are tagged terms or return
 * addresses. C code that they call runs on the scheduler's stack, and leaves
 * the Erlang one in memory: beam_walk.h copies it. The BEAM describes each
 * module that it loads to debuggers, in its own format (beam_modules.h).
 */
#pragma once

#include "capture/host/memory.h"

#include "beam_walk.h"
#include "capture/elf/elf.h"
#include "capture/jit/jit.h"

/* Indexes of variables[], which holds their addresses in the program. */
enum { BEAM_DESCRIPTOR, BEAM_EXIT, BEAM_SCHEDULERS, BEAM_VARIABLES };

struct beam_image {
	uint64_t variables[BEAM_VARIABLES];
};

/*
 * Finds the variables of a BEAM.
 *   Errors   -ENOENT the image is no BEAM, -EIO, -ENOMEM
 */
MUST_CHECK int beam_image(const struct elf_image *elf, struct beam_image *out);
