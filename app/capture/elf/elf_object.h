/*
 * Object files that describe JIT-compiled code. Just-in-time compilers keep
 * such files in memory, for debuggers; the address of each section in the file
 * is where its code lies in the process. The resulting image is like that of a
 * linked file: symbols have addresses, segments are the code and the frame
 * information, and relocations are applied.
 *
 *   Source   gABI 5, Relocation; x86-64 psABI, 4.4.1; "ELF for the Arm 64-bit
 *            Architecture", 5.7.4 and 5.7.5
 */
#pragma once

#include "elf.h"

#define ELF_MAX_OBJECT ((size_t)16 << 20) /* bytes of file and code */

/* Reads n bytes of code from the program's memory. 0 or -errno. */
typedef int elf_object_read(void *arg, uint64_t addr, void *out, size_t n);

/*
 * Makes an image of an object file.
 *
 *   Shape    code that can't be read is taken from the file, or left out.
 *            Every segment with PF_X is a section of code; there is at least
 *            one
 *   Owns     *out is the caller's, elf_free() it
 *   Errors   -ENODATA no section of code has an address, -E2BIG past
 *            ELF_MAX_OBJECT or ELF_MAX_SEGMENTS, as elf_open_memory();
 *            *out untouched
 */
MUST_CHECK int elf_open_object(const void *p, size_t n, elf_object_read *read,
                               void *arg, struct elf_image **out);
