/*
 * Finds the separate debug file of an image, and the file that it shares with
 * others.
 *
 * The host's files are searched first, by build-id; then the target's root: by
 * build-id again, and by the name in .gnu_debuglink beside the image, in
 * .debug/ there, and below /usr/lib/debug. A file is used only when its
 * build-id, or the CRC in the link, matches.
 *
 *   Source   GDB manual, "Debugging Information in Separate Files"; dwz(1)
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/host.h"

/* Size above which a file without build-id is not read for its CRC. */
#define DEBUG_FILE_MAX_CRC ((uint64_t)256 << 20)

/* True if a file can name functions: it has symbols or debug information, not
 * only the dynamic symbols. */
bool debug_file_names(const struct elf_image *elf);
/* True if it can name source lines, too: it has DWARF, or Go's own table. */
bool debug_file_has_lines(const struct elf_image *elf);
/* Reads a build-id from hexadecimal text. Returns its size, or 0. */
uint32_t build_id_parse(const char *hex, uint8_t out[static HOST_BUILD_ID]);
/*
 * Finds the debug file among the host's, by build-id. The result is recorded in
 * the host's debugs, unless there is none and the image would gain nothing.
 *   Owns     the caller elf_free()s it; NULL: there is none
 */
struct elf_image *
debug_file_of_host(const struct host *host, const struct elf_image *elf);
/* Finds the host's debug file of an image that is not at hand. */
struct elf_image *debug_file_of_build_id(const struct host *host,
                                         const uint8_t *id, uint32_t size);
/* Finds the debug file in the root of pid, where the image has this path. Owns
 * the caller elf_free()s the result; NULL: none */
struct elf_image *
debug_file_of_target(const struct host *host, int32_t pid, const char *path,
                     const struct elf_image *elf);
/*
 * Finds the host's file that .gnu_debugaltlink of debug refers to: dwz moves
 * entries there that several debug files share.
 */
struct elf_image *
debug_file_shared(const struct host *host, const struct elf_image *debug);
/*
 * Finds a .dwo file in the root of pid: in the compilation directory, or
 * beside the image. If name is NULL, finds the image's .dwp file: beside the
 * image or its debug file, even the host's.
 *   Source   GDB manual, "Separate Debug Files"; gdb/dwarf2/read.c,
 *            open_dwo_file(), open_and_init_dwp_file(); lldb/source/Plugins/
 *            SymbolFile/DWARF/SymbolFileDWARF.cpp, GetDwpSymbolFile()
 */
struct elf_image *
debug_file_split(const struct host *host, int32_t pid, const char *path,
                 const struct elf_image *elf, const char *dir,
                 const char *name);
/*
 * Finds the file of debug_file_shared() in the root of pid: by its build-id,
 * in .dwz, and by its path, which may be relative to that of debug or of the
 * image it belongs to.
 *   Source   GDB manual, "Separate Debug Files"; gdb/dwarf2/dwz.c
 */
struct elf_image *
debug_file_shared_of_target(const struct host *host, int32_t pid,
                            const char *path, const struct elf_image *debug);
