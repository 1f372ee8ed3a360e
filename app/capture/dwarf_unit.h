/* The functions and inlined calls of one DWARF unit, by address. */
#pragma once

#include "dwarf_index.h"

#include <elfutils/libdw.h>

#define DWARF_NO_SCOPE UINT32_MAX

/* A function or inlined call: one of the ranges it covers. */
struct dwarf_scope {
	uint64_t start, end; /* vaddr */
	Dwarf_Off die;
	uint32_t parent;    /* the scope around it, or DWARF_NO_SCOPE */
	uint32_t call_line; /* of an inlined call */
	uint16_t depth;
	bool inlined, named;
	struct dwarf_frame what; /* once named; its line is not used */
};

struct dwarf_unit {
	Dwarf_Die die;
	struct dwarf_scope *scopes; /* ascending, outer before inner */
	uint32_t n, cap;
};

/* Errors: -ENOMEM, -E2BIG past DWARF_MAX_SCOPES; *out untouched */
MUST_CHECK int
dwarf_unit_new(Dwarf *dw, Dwarf_Off die, struct dwarf_unit **out);
void dwarf_unit_free(struct dwarf_unit *u);
DEFINE_CLEANUP(struct dwarf_unit *, dwarf_unit_free)

/* As dwarf_index_lookup, in this unit; at least one frame if max is. */
size_t dwarf_unit_lookup(struct dwarf_unit *u, Dwarf *dw, uint64_t vaddr,
                         struct dwarf_frame *out, size_t max);
