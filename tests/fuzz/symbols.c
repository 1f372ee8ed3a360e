/* Pieces of the symbols cache as a broken child might leave them. */
#include "capture/symbols/dwarf_file.h"
#include "capture/symbols/dwarf_unit.h"
#include "capture/symbols/symtab.h"

#include <stdint.h>
#include <string.h>

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
read_symtab(const struct symbols_piece *p)
{
	struct symtab t;
	const char *name;

	if (symtab_open(p, &t))
		return;
	for (uint32_t i = 0; i < t.n; i++) {
		name = symtab_lookup(&t, t.rows[i].start);
		if (name && !*name)
			abort();
		sink += name ? strlen(name) : 0;
	}
}

static void
read_units(const struct symbols_piece *p)
{
	struct dwarf_index ix;
	uint64_t unit;

	if (dwarf_index_open(p, &ix))
		return;
	for (size_t i = 0; i < ix.n; i++)
		sink += dwarf_index_lookup(&ix, ix.ranges[i].start, &unit);
}

static void
read_at(const struct dwarf_unit *u, uint64_t vaddr)
{
	struct dwarf_frame f[8];
	size_t n = dwarf_unit_lookup(u, vaddr, f, ARRAY_LEN(f));

	for (size_t i = 0; i < n; i++)
		sink += strlen(f[i].name) + strlen(f[i].file);
}

static void
read_unit(const struct symbols_piece *p)
{
	struct dwarf_unit u;

	if (dwarf_unit_open(p, &u))
		return;
	read_at(&u, UINT64_MAX);
	for (uint32_t i = 0; i < u.nscopes; i++)
		read_at(&u, u.scopes[i].start);
	for (uint32_t i = 0; i < u.nlines; i++)
		read_at(&u, u.lines[i].start);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_FREE void *copy = malloc(n + 1); /* pieces are aligned */
	struct symbols_piece p = {copy, n};

	if (!copy)
		return 0;
	memcpy(copy, data, n);
	read_symtab(&p);
	read_units(&p);
	read_unit(&p);
	return 0;
}
