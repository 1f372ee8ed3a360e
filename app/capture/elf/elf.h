/*
 * A bounded reader of ELF files that can't be trusted.
 *
 * An image is an open descriptor or copied memory (the vdso). Nothing is
 * mapped: every byte is copied out by elf_read() and checked once. When the
 * file is truncated or rewritten meanwhile, a read yields -EIO or wrong bytes,
 * but never SIGBUS, nor a length that changes after the check. No path is
 * opened here.
 *
 * 64-bit little-endian x86-64 and aarch64. Section headers are used when
 * there are any; segments, build-id, dynamic symbols and unwind tables are
 * found without them.
 *
 * Source: System V ABI (gABI) chapters 4 and 5; elf(5).
 */
#pragma once

#include "base/cleanup.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS  64
#define ELF_MAX_SECTIONS  8192
#define ELF_MAX_BUILD_ID  64
#define ELF_MAX_DYNAMIC   256 /* rows; linkers write some 40 */
#define ELF_MAX_NAME      256
#define ELF_MAX_PATH      1024
#define ELF_MAX_DEBUGDATA ((size_t)64 << 20) /* bytes, unpacked */

struct elf_segment {
	uint32_t type, flags; /* PT_*, PF_* */
	uint64_t offset, vaddr, filesz, memsz, align;
};

struct elf_section {
	uint32_t type, link, info;
	uint64_t flags, vaddr, offset, size, entsize;
};

/* An ELF image. Its fields may be read, and don't change once it is open. */
struct elf_image {
	int fd;           /* -1: the image is in memory */
	uint8_t *mem;     /* NULL: the image is behind fd */
	uint64_t size;    /* bytes */
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	uint16_t type;    /* ET_EXEC, ET_DYN, ... */
	uint64_t entry;   /* vaddr of a program's entry point, or 0 */
	/* True unless the image is a library: it is linked to a fixed place, or
	 * marked DF_1_PIE. */
	bool is_program;
	/* Without section headers the dynamic symbols and their names are the
	 * only sections: PT_DYNAMIC describes them. */
	bool no_headers;
	uint32_t nsegments, nsections;
	struct elf_segment segments[ELF_MAX_SEGMENTS];
	struct elf_section *sections; /* NULL: there are none */
	uint32_t *section_names;      /* offsets into strtab */
	char *strtab;                 /* of section names, NUL-terminated */
	uint32_t strtab_size;
	uint32_t build_id_size; /* 0: no build-id */
	uint8_t build_id[ELF_MAX_BUILD_ID];
};

/*
 * Reads the ELF header, segments, section headers and the build-id.
 *
 *   Owns     *out is the caller's, elf_free() it; on success elf_open_fd owns
 *            fd, elf_open_memory has copied the bytes
 *   Errors   -ENOEXEC no supported ELF file, -EIO, -ENOMEM, -errno of fstat;
 *            *out untouched, fd still the caller's
 */
MUST_CHECK int elf_open_fd(int fd, struct elf_image **out);
MUST_CHECK int elf_open_memory(const void *p, size_t n, struct elf_image **out);
void elf_free(struct elf_image *e);
DEFINE_CLEANUP(struct elf_image *, elf_free)
#define CLEANUP_ELF CLEANUP(elf_free_ptr)

/*
 * Copies exactly n bytes at a file offset.
 *   Errors   -EIO when the image has no such bytes; *dst undefined
 */
MUST_CHECK int
elf_read(const struct elf_image *e, uint64_t offset, void *dst, size_t n);
/*
 * Copies n bytes into new memory like elf_read(), and appends a NUL.
 *
 *   Owns     *out is the caller's; free() it
 *   Errors   -EIO, -E2BIG past max, -ENOMEM; *out untouched
 */
MUST_CHECK int elf_copy(const struct elf_image *e, uint64_t offset, uint64_t n,
                        size_t max, void **out);

/* Finds the file offset of vaddr in a loaded segment, and how many bytes of the
 * file follow there. Returns false when the file does not have vaddr. */
MUST_CHECK bool elf_offset_of(const struct elf_image *e, uint64_t vaddr,
                              uint64_t *offset, uint64_t *left);
/* Finds the vaddr of a file offset in a loaded segment. */
MUST_CHECK bool
elf_vaddr_of(const struct elf_image *e, uint64_t offset, uint64_t *vaddr);
/*
 * Computes the value to subtract from an address in a mapping to get the
 * image's vaddr.
 *
 *   Shape    start, offset: as in /proc/PID/maps or PERF_RECORD_MMAP2; for
 *            the vdso offset is 0. flags: PF_X for an executable mapping, 0
 *            for any. If two segments share a page of the file, the one that
 *            begins there counts; in a program with fixed addresses, the one
 *            that belongs at start.
 *   Errors   -ENOENT when no segment is mapped from that offset
 *   Source   gABI 5, Base Address; segments are mapped by whole pages
 */
MUST_CHECK int elf_bias(const struct elf_image *e, uint64_t start,
                        uint64_t offset, uint32_t flags, uint64_t *bias);

const struct elf_segment *
elf_segment(const struct elf_image *e, uint32_t type, uint32_t skip);

struct elf_dynamic {
	Elf64_Dyn rows[ELF_MAX_DYNAMIC];
	size_t n; /* without DT_NULL */
};
/* Reads the dynamic section; no rows if it cannot be read. */
void elf_dynamic(const struct elf_image *e, struct elf_dynamic *out);
/* Returns the value of the first row with a tag; 0: none. */
uint64_t elf_dynamic_value(const struct elf_dynamic *d, int64_t tag);
/* Find a section by name, or by SHT_* type; NULL when there is none. A section
 * whose bytes are not in the file (SHT_NOBITS) is never found. */
const struct elf_section *
elf_section(const struct elf_image *e, const char *name);
const struct elf_section *
elf_section_typed(const struct elf_image *e, uint32_t type);

/* Called with a symbol and its name, which is valid during the call. */
typedef void elf_symbol_seen(void *arg, const Elf64_Sym *sym, const char *name);
/*
 * Goes through the symbols of a table, SHT_SYMTAB or SHT_DYNSYM.
 *   Errors   -ENOENT there is no such table; as elf_copy()
 */
MUST_CHECK int elf_symbols(const struct elf_image *e, uint32_t table,
                           elf_symbol_seen *seen, void *arg);
/* A symbol to find; value and size stay as they are if nothing defines it. */
struct elf_wanted {
	const char *name;
	uint64_t value, size;
};
/* Finds n symbols by their names; errors as elf_symbols(). */
MUST_CHECK int elf_find_symbols(const struct elf_image *e, uint32_t table,
                                struct elf_wanted *rows, size_t n);

/*
 * Reads the name and CRC of the separate debug file from .gnu_debuglink.
 *
 *   Errors   -ENOENT no link, -EINVAL the name is empty, too long or has a
 *            slash (it is appended to directories)
 *   Source   GDB manual, "Debugging Information in Separate Files"
 */
MUST_CHECK int elf_debuglink(const struct elf_image *e, char name[ELF_MAX_NAME],
                             uint32_t *crc);
struct elf_altlink {
	char name[ELF_MAX_PATH]; /* a path, which may be relative to the
	                            debug file's */
	uint32_t build_id_size;
	uint8_t build_id[ELF_MAX_BUILD_ID];
};
/*
 * Reads from .gnu_debugaltlink the name and build-id of the file with which a
 * debug file shares entries.
 *
 *   Errors   -ENOENT none, -EINVAL no name, too long, or no build-id
 *   Source   dwz(1); DW_FORM_GNU_ref_alt
 */
MUST_CHECK int
elf_debugaltlink(const struct elf_image *e, struct elf_altlink *out);
/*
 * Checks that debug is the separate debug file of e: by build-id or, when e has
 * none, by the CRC in its debug link.
 *   Errors   -ESTALE debug belongs to another file, or as elf_read
 */
MUST_CHECK int
elf_debug_matches(const struct elf_image *e, const struct elf_image *debug);
/*
 * Unpacks the small image in .gnu_debugdata: symbols that stripping removed,
 * compressed by xz.
 *
 *   Owns     *out is the caller's, elf_free() it
 *   Errors   -ENOENT none, -EINVAL not xz, -E2BIG past ELF_MAX_DEBUGDATA, as
 *            elf_open_memory; *out untouched
 *   Source   GDB manual, "Debugging information in a special section"
 */
MUST_CHECK int
elf_open_debugdata(const struct elf_image *e, struct elf_image **out);
