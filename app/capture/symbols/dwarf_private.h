/* Between the writer and the reader of a unit's piece. */
#pragma once

#include "dwarf_unit.h"

struct dwarf_unit_head {
	uint32_t nscopes, nlines, names_size, zero;
};
