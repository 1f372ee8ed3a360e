/*
 * Sections with debug information, which may be compressed.
 *
 *   Source   gABI 4, Compressed Sections, with ELFCOMPRESS_ZSTD; bfd/compress.c
 *            of binutils 2.40 for .zdebug_NAME, as -gz=zlib-gnu writes it
 */
#pragma once

#include "elf.h"

struct elf_packed {
	uint64_t offset, n; /* of the bytes in the file */
	uint64_t size;      /* unpacked */
	enum { ELF_PLAIN, ELF_ZLIB, ELF_ZSTD } form;
};

/*
 * Finds a section by its name, such as .debug_info.
 *
 *   Errors   -ENOENT there is none, -ENODATA compressed in an unknown way, -EIO
 */
MUST_CHECK int elf_packed_find(const struct elf_image *e, const char *name,
                               struct elf_packed *out);
/*
 * Unpacks the section to p->size bytes, which the caller has bounded.
 *
 *   Errors   -ENODATA damaged, -EIO, -E2BIG more than max bytes in the file,
 *            -ENOMEM
 */
MUST_CHECK int
elf_packed_read(const struct elf_image *e, const struct elf_packed *p,
                uint64_t max, void *to);
