/*
 * Finds the separate debug file of an image, and what that shares with others.
 *
 * First where the host keeps such files by build-id; then in the target's own
 * root: by build-id again, and by the name in .gnu_debuglink beside the
 * image, in .debug/ there, and below /usr/lib/debug. A file is used only when
 * it is the image's: same build-id, or the CRC that the link asks for.
 *
 *   Source   GDB manual, "Debugging Information in Separate Files"; dwz(1)
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/host.h"

/* Files without build-id above this are not read for their CRC. */
#define DEBUG_FILE_MAX_CRC ((uint64_t)256 << 20)

/*
 * By build-id, where the host keeps them. The host's debugs are told of it,
 * unless there is none and the image would gain nothing.
 *   Owns     the caller elf_free()s it; NULL: there is none
 */
struct elf_image *
debug_file_of_host(const struct host *host, const struct elf_image *elf);
/* The same, of an image that is not at hand. */
struct elf_image *debug_file_of_build_id(const struct host *host,
                                         const uint8_t *id, uint32_t size);
/* In the root of pid, where path is the image's; otherwise the same. */
struct elf_image *
debug_file_of_target(const struct host *host, int32_t pid, const char *path,
                     const struct elf_image *elf);
/*
 * The file that .gnu_debugaltlink of debug asks for: dwz moves there what
 * several debug files have in common. Of the host only.
 */
struct elf_image *
debug_file_shared(const struct host *host, const struct elf_image *debug);
