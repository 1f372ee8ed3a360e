/*
 * The functions, inlined calls and source lines of one DWARF unit, by
 * address: a piece of the symbols cache.
 *
 * A piece is a head, scopes, lines, and names that end in NUL, the first of
 * which is "". Whoever opens one trusts no number in it.
 */
#pragma once

#include "symbols_cache.h"

#include <elfutils/libdw.h>

#define DWARF_MAX_SCOPES  (1u << 20) /* functions in one unit */
#define DWARF_MAX_LINES   (1u << 22) /* rows of one unit's line table */
#define DWARF_MAX_DEPTH   64         /* of nested scopes */
#define DWARF_MAX_ENTRIES (1u << 27) /* looked at in one unit's tree */
#define DWARF_NO_SCOPE    UINT32_MAX

/* What runs at an address. */
struct dwarf_frame {
	const char *name; /* linkage name, else plain name; "" unknown */
	const char *file; /* "" unknown */
	uint32_t line, start_line; /* 0 unknown */
};

/* The beginning of a piece. */
struct dwarf_unit_head {
	uint32_t nscopes, nlines, names_size, zero;
};

/* A function or inlined call: one of the ranges it covers. */
struct dwarf_scope {
	uint64_t start, end; /* vaddr */
	uint32_t parent;     /* the scope around it, or DWARF_NO_SCOPE */
	uint32_t call_line;  /* of an inlined call */
	uint32_t name, file; /* offsets in names */
	uint32_t start_line;
	uint32_t inlined; /* 0 or 1 */
};

struct dwarf_line {
	uint64_t start;      /* vaddr; up to the next row's */
	uint32_t file, line; /* both 0: no code */
};

/* A view of a piece; all zero: nothing is known. */
struct dwarf_unit {
	const struct dwarf_scope *scopes; /* ascending, outer before inner */
	const struct dwarf_line *lines;   /* ascending, one per start */
	const char *names;
	uint32_t nscopes, nlines, names_size;
};

/*
 * Indexes the unit whose entry is at die.
 *   Errors   -ENODATA no such entry, -E2BIG past the maxima, -ENOMEM
 */
MUST_CHECK int dwarf_unit_build(Dwarf *dw, uint64_t die, struct buf *out);
/* Owns: *out points into piece. Errors: -EBADMSG; *out untouched */
MUST_CHECK int
dwarf_unit_open(const struct symbols_piece *piece, struct dwarf_unit *out);
/*
 * Frames at vaddr, innermost first, the last one not inlined; their number,
 * at least one if max is. Texts live as long as the piece.
 */
size_t dwarf_unit_lookup(const struct dwarf_unit *u, uint64_t vaddr,
                         struct dwarf_frame *out, size_t max);
