/*
 * The image of a program or library, read from the memory of a process that has
 * it mapped.
 *
 * It replaces a file that can't be opened: the file was unlinked, and the
 * kernel does not let the worker follow the link of a mapping; or its file
 * system was unmounted. The image has the parts of the file that the process
 * has mapped: program headers, code, unwind tables, dynamic symbols and the
 * build-id, by which a debug file is found. Section headers and the symbol
 * table are usually not mapped.
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/host.h"
#include "maps.h"

#define IMAGE_MAX      ((uint64_t)256 << 20) /* bytes of all mappings */
#define IMAGE_MAX_MAPS 256                   /* mappings of one file */

/*
 *   Owns     *out is the caller's, elf_free() it
 *   Errors   -ESTALE the process has another file there, or none; -ENOEXEC not
 *            an ELF file; -E2BIG past the maxima; -ENOMEM; as maps_text() and
 *            memory_read()
 */
MUST_CHECK int
image_of_memory(const struct host *host, int32_t pid,
                const struct map_seen *seen, struct elf_image **out);
