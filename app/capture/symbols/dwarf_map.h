/* A table of numbers by number, for as long as one unit is indexed. */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

struct dwarf_map {
	struct dwarf_map_slot {
		uint64_t key; /* 0: free */
		uint32_t value;
	} * slots;
	uint32_t n, cap;
};

void dwarf_map_done(struct dwarf_map *m);
/* The value of key (not 0), which is 0 when it is new; NULL: out of memory.
 * It stays until the next call. */
uint32_t *dwarf_map_at(struct dwarf_map *m, uint64_t key);
