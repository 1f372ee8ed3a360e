/*
 * Decodes instructions of x86-64 and AArch64, which may be hostile, with
 * libcapstone. x86-64 is written in AT&T syntax, as the GNU tools write it.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISASM_MAX_TEXT 192

/* Bytes of code that are still to be decoded. */
struct disasm_code {
	const uint8_t *p;
	size_t n;
	uint64_t address; /* of p */
};

struct disasm_line {
	uint64_t address;
	uint32_t size;   /* bytes */
	uint64_t target; /* where it jumps to or calls; 0: not known */
	char text[DISASM_MAX_TEXT]; /* bytes that are not code: .byte */
};

struct disasm;
/*
 *   Shape    machine is EM_X86_64 or EM_AARCH64
 *   Owns     *out is the caller's; disasm_free() it
 *   Errors   -ENOTSUP another machine, -ENOMEM
 */
MUST_CHECK int disasm_new(uint16_t machine, struct disasm **out);
void disasm_free(struct disasm *d);
DEFINE_CLEANUP(struct disasm *, disasm_free)
#define CLEANUP_DISASM CLEANUP(disasm_free_ptr)
/* Decodes the next instruction; false at the end of the code. */
bool disasm_next(struct disasm *d, struct disasm_code *code,
                 struct disasm_line *out);
