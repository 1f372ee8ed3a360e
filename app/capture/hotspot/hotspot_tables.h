/* HotSpot's tables of its types, fields and constants. */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HOTSPOT_LACKS UINT64_MAX /* a field that this version does not have */

enum hotspot_field {
#define FIELD(id, type, name)    HOTSPOT_##id,
#define OPTIONAL(id, type, name) HOTSPOT_##id,
#include "hotspot_tables.def"
	HOTSPOT_FIELDS
};
enum hotspot_size {
#define SIZE(id, type) HOTSPOT_SIZE_##id,
#include "hotspot_tables.def"
	HOTSPOT_SIZES
};
enum hotspot_constant {
#define CONSTANT(id, name) HOTSPOT_CONSTANT_##id,
#include "hotspot_tables.def"
	HOTSPOT_CONSTANTS
};

struct hotspot_tables {
	uint64_t field[HOTSPOT_FIELDS]; /* offset, or address if static */
	uint64_t size[HOTSPOT_SIZES];
	int64_t constant[HOTSPOT_CONSTANTS]; /* 0: there is none */
	uint32_t major;                      /* the version: 17 */
};

/* The exported variables that describe the tables. */
enum hotspot_symbol {
#define SYMBOL(id, name) HOTSPOT_SYMBOL_##id,
#include "hotspot_symbols.def"
#undef SYMBOL
	HOTSPOT_SYMBOLS
};

struct memory;

/*
 * Reads the tables of a process.
 *
 *   Shape    symbol[] are addresses in the process
 *   Errors   -EAGAIN they are not filled yet, -EBADMSG they lack a field that
 *            is needed, -ENOMEM, those of memory_read()
 */
MUST_CHECK int
hotspot_tables(const struct memory *m, const uint64_t symbol[HOTSPOT_SYMBOLS],
               struct hotspot_tables *out);

/*
 * Returns the field of a structure's copy; 0 if the copy or this version does
 * not have it.
 */
static inline uint64_t
hotspot_get(const uint8_t *p, size_t n, uint64_t offset, size_t size)
{
	uint64_t v = 0;

	if (offset <= n && n - offset >= size)
		memcpy(&v, p + offset, size);
	return v;
}
