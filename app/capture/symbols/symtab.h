/*
 * Tables of the functions of one image, or of the kernel, sorted by address, as
 * pieces of the symbols cache.
 *
 * An image's functions come from the first table that exists: .symtab of the
 * separate debug file, .symtab, or the dynamic symbols (found without section
 * headers) with those of .gnu_debugdata. A name ends where its version begins
 * ("f" of "f@@GLIBC_2.17"). Labels in code count as functions unless they are
 * within one, and slots of procedure linkage tables count, too: "f@plt" leads
 * to f.
 *
 * A piece is a head, rows, and names that end in NUL. Opening a piece checks
 * every offset in it.
 */
#pragma once

#include "capture/elf/elf.h"
#include "symbols_cache.h"

#define SYMTAB_MAX_ROWS  (1u << 22)
#define SYMTAB_MAX_NAMES ((size_t)1 << 29) /* bytes */

struct symbol {
	uint64_t start;     /* vaddr */
	uint32_t size;      /* bytes */
	uint32_t name : 31; /* offset in names */
	uint32_t open : 1;  /* the size is an upper bound */
};

/* A view of a piece; all zero: no functions. */
struct symtab {
	const struct symbol *rows; /* ascending, one per start */
	uint32_t n;
	const char *names;
	uint32_t names_size;
};

/*
 * Builds the table of elf, with debug, its separate debug file, or NULL.
 *   Errors   -ENODATA no function, -EIO, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int symtab_build(const struct elf_image *elf,
                            const struct elf_image *debug, struct buf *out);
/*
 * Opens a view; *out points into piece.
 *   Errors   -EBADMSG malformed; *out untouched
 */
MUST_CHECK int
symtab_open(const struct symbols_piece *piece, struct symtab *out);
/* Returns the name of the function at vaddr, never "", or NULL. */
const char *symtab_lookup(const struct symtab *t, uint64_t vaddr);
/* Returns the number of the first symbol that begins above vaddr. */
uint32_t symtab_above(const struct symtab *t, uint64_t vaddr);

/* --- building a table ----------------------------------------------------- */

struct symtab_row {
	uint64_t start, end; /* vaddr; end 0: up to the next row, */
	uint64_t limit;      /* but not past limit; 0: no limit */
	const char *name;
	uint8_t rank; /* breaks ties: STB_*, or the rank in kallsyms.c */
	bool label;   /* the symbol has no type */
	bool slot;    /* in a procedure linkage table: named NAME@plt */
};

/*
 * Writes rows as a piece.
 *   Shape    rows ascending by start, one per start
 *   Errors   -E2BIG past SYMTAB_MAX_ROWS or NAMES; the poison of out
 */
MUST_CHECK int
symtab_write(const struct symtab_row *rows, size_t n, struct buf *out);
