/*
 * The functions of one image, sorted by address.
 *
 * Taken from the first table that exists: .symtab of the separate debug
 * file, .symtab, or the dynamic symbols (found without section headers).
 */
#pragma once

#include "capture/elf.h"

#define SYMTAB_MAX_ROWS  (1u << 22)
#define SYMTAB_MAX_NAMES ((size_t)1 << 29) /* bytes */

struct symbol {
	uint64_t start, end; /* vaddr */
	uint32_t name;       /* offset in names */
	uint8_t binding;     /* STB_* */
};

struct symtab {
	struct symbol *rows; /* ascending, one per start */
	uint32_t n;
	char *names;
	size_t names_size;
};

/*
 * Reads the functions of elf, or of debug, its separate debug file or NULL.
 *
 *   Owns     *out is the caller's, symtab_done() it; images are not kept
 *   Errors   -ENODATA no function, -EIO, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int symtab_init(const struct elf_image *elf,
                           const struct elf_image *debug, struct symtab *out);
void symtab_done(struct symtab *t);
#define CLEANUP_SYMTAB CLEANUP(symtab_done)

/* The function that holds vaddr, or NULL. */
const struct symbol *symtab_lookup(const struct symtab *t, uint64_t vaddr);
static inline const char *
symtab_name(const struct symtab *t, const struct symbol *s)
{
	return t->names + s->name;
}

/* Where a table of symbols and its names lie in the file, in bytes. */
struct symtab_place {
	uint64_t symbols, size, names, names_size;
};
/*
 * The dynamic symbols by way of PT_DYNAMIC.
 *   Errors   -ENOENT; *out untouched
 *   Source   gABI 5, Dynamic Section, Hash Table; glibc's elf/dl-lookup.c
 *            for DT_GNU_HASH
 */
MUST_CHECK int
symtab_dynamic(const struct elf_image *e, struct symtab_place *out);
