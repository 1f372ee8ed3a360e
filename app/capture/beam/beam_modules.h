/*
 * The modules that a BEAM has loaded: where their code is, and the functions
 * and lines in it.
 *
 *   Source   GDB manual, "Using the Interface"; Erlang/OTP 25.2 and 27.3,
 *            erts/emulator/beam/jit/beam_jit_metadata.cpp: struct debug_info,
 *            range_info, line_info
 */
#pragma once

#include "capture/jit/jit.h"

#define BEAM_MAX_MODULES 8192
#define BEAM_MAX_BYTES   ((size_t)64 << 20) /* of descriptions that are kept */

struct beam_module {
	uint64_t row;          /* address of its row in the list */
	uint64_t text, size;   /* its description */
	uint64_t start, end;   /* its code */
	uint32_t ranges, name; /* number of functions; bytes of the name */
	uint8_t *bytes;        /* the description; NULL: not read yet */
};

struct beam_modules {
	uint64_t descriptor, first; /* addresses; first: of the newest row */
	uint64_t looked_ns;
	struct beam_module *rows; /* by start */
	uint32_t n;
	size_t bytes; /* of descriptions that were read */
};

void beam_modules_done(struct beam_modules *m);
/* Finds the module at an address; reads the list again if it may have changed.
 * NULL: there is none. */
struct beam_module *
beam_modules_find(struct beam_modules *m, const struct jit_space *space,
                  uint64_t pc);

struct beam_function {
	const char *name, *file; /* not ended by a NUL; file NULL: none */
	size_t name_length, file_length;
	uint32_t line; /* 0: none */
};
/*
 * Finds the function at an address of a module.
 *   Errors   -ESTALE the description is damaged or has no such function,
 *            -E2BIG too much is kept, -ENOMEM, those of memory_copy()
 */
MUST_CHECK int
beam_modules_function(struct beam_modules *m, const struct jit_space *space,
                      struct beam_module *of, uint64_t pc,
                      struct beam_function *out);
/*
 * Parses a description.
 *   Shape    offset is from the code's start
 *   Errors   -ESTALE
 */
MUST_CHECK int
beam_description(const uint8_t *p, size_t n, uint32_t name, uint32_t ranges,
                 uint32_t offset, struct beam_function *out);
