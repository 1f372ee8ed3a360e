/*
 * The functions, inlined calls and source lines of one DWARF unit, by
 * address: a piece of the symbols cache.
 *
 * A piece is a head, scopes, lines, and names that end in NUL, the first of
 * which is "". Opening a piece checks every number in it.
 */
#pragma once

#include "symbols_cache.h"

#include <elfutils/libdw.h>

#define DWARF_MAX_SCOPES  (1u << 20) /* functions in one unit */
#define DWARF_MAX_LINES   (1u << 22) /* rows of one unit's line table */
#define DWARF_MAX_DEPTH   64         /* of nested scopes */
#define DWARF_MAX_ENTRIES (1u << 27) /* visited in one unit's tree */
#define DWARF_NO_SCOPE    UINT32_MAX

/* A function or inlined call that runs at an address. */
struct dwarf_frame {
	const char *name; /* linkage name, else plain name; "" unknown */
	const char *file; /* "" unknown */
	uint32_t line, start_line; /* 0 unknown */
	uint32_t discriminator;    /* of the call inlined into this frame; 0:
                                none, as in the innermost frame */
};

/* The beginning of a piece. */
struct dwarf_unit_head {
	uint32_t nscopes, nlines, names_size;
	uint32_t lacks; /* 1: its functions are in a file that was not found */
};

/* A function or inlined call, for one of its ranges. */
struct dwarf_scope {
	uint64_t start, end; /* vaddr */
	uint32_t parent;     /* the scope around it, or DWARF_NO_SCOPE */
	uint32_t call_line;  /* for an inlined call */
	uint32_t name, file; /* offsets in names */
	uint32_t start_line;
	/* Distinguishes inlined calls on one line. */
	uint32_t discriminator : 31;
	uint32_t inlined : 1;
};

struct dwarf_line {
	uint64_t start;      /* vaddr; the row ends at the next one's */
	uint32_t file, line; /* both are 0 where there is no code */
};

/* A view of a unit's piece; all zero: nothing is known. */
struct dwarf_unit {
	const struct dwarf_scope *scopes; /* ascending, outer before inner */
	const struct dwarf_line *lines;   /* ascending, one per start */
	const char *names;
	uint32_t nscopes, nlines, names_size;
	bool lacks;
};

/*
 * Indexes a unit.
 *
 *   Shape    split: the file that has the unit's functions, when unit is a
 *            skeleton; NULL: it was not found
 *   Errors   -E2BIG past the maxima, -ENOMEM
 */
struct dwarf_skeleton;
MUST_CHECK int
dwarf_unit_build(Dwarf_Die *unit, const struct dwarf_skeleton *skeleton,
                 Dwarf_Die *split, struct buf *out);
/* Opens a view; *out points into piece. Errors -EBADMSG; *out untouched */
MUST_CHECK int
dwarf_unit_open(const struct symbols_piece *piece, struct dwarf_unit *out);
/*
 * Finds frames at vaddr, innermost first, the last one not inlined. Returns
 * their number, at least one if max is. Texts are valid as long as the piece.
 */
size_t dwarf_unit_lookup(const struct dwarf_unit *u, uint64_t vaddr,
                         struct dwarf_frame *out, size_t max);
