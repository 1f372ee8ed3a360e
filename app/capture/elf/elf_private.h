/* What the parts of the ELF reader share. */
#pragma once

#include "elf.h"

#define ELF_MAX_STRTAB ((size_t)16 << 20) /* names of sections, bytes */
#define ELF_MAX_NOTES  ((size_t)64 << 10) /* one note segment, bytes */

/*
 * Fills build_id from the first GNU note that has one.
 *   Errors   -ENOMEM; an image without one is no error
 */
MUST_CHECK int elf_read_build_id(struct elf_image *e);
/* What is_program is set to. */
bool elf_read_is_program(const struct elf_image *e);
