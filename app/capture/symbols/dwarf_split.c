#include "dwarf_split.h"

#include "dwarf_sections.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#define MAX_INDEX ((size_t)64 << 20) /* bytes of .debug_cu_index */

/* --- the skeleton --------------------------------------------------------- */

static bool
number(Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &a) || dwarf_formudata(&a, &v))
		return false;
	*out = v;
	return true;
}

static const char *
text(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;

	return dwarf_formstring(dwarf_attr(die, name, &a));
}

bool
dwarf_skeleton(Dwarf_Die *unit, struct dwarf_skeleton *out)
{
	struct dwarf_skeleton s = {.die = *unit,
	                           .dir = text(unit, DW_AT_comp_dir)};
	Dwarf_Half version;
	uint8_t type;

	s.name = text(unit, DW_AT_dwo_name);
	if (!s.name)
		s.name = text(unit, DW_AT_GNU_dwo_name);
	if (!s.name || dwarf_cu_info(unit->cu, &version, &type, NULL, NULL,
	                             &s.id, NULL, NULL))
		return false;
	if (!number(unit, DW_AT_addr_base, &s.addresses))
		(void)number(unit, DW_AT_GNU_addr_base, &s.addresses);
	(void)number(unit, DW_AT_GNU_ranges_base, &s.ranges);
	if (version < 5 && dwarf_lowpc(unit, &s.start))
		s.start = 0;
	*out = s;
	return true;
}

/* --- the index of a .dwp file --------------------------------------------- */

struct index_header { /* the version has 16 bits from DWARF 5 on */
	uint32_t version, ncolumns, nunits, nslots;
};

static const char *
section_of(uint32_t version, uint32_t column)
{
	static const char *const gnu[] = {
		[1] = ".debug_info",        [2] = ".debug_types",
		[3] = ".debug_abbrev",      [4] = ".debug_line",
		[6] = ".debug_str_offsets",
	};
	static const char *const dwarf5[] = {
		[1] = ".debug_info",     [3] = ".debug_abbrev",
		[4] = ".debug_line",     [6] = ".debug_str_offsets",
		[8] = ".debug_rnglists",
	};

	if (version < 5)
		return column < ARRAY_LEN(gnu) ? gnu[column] : NULL;
	return column < ARRAY_LEN(dwarf5) ? dwarf5[column] : NULL;
}

static bool
find_row(const struct index_header *h, const uint8_t *ids,
         const uint32_t *numbers, uint64_t id, uint32_t *row)
{
	for (uint32_t i = 0; i < h->nslots; i++)
		if (!memcmp(ids + (size_t)i * sizeof(id), &id, sizeof(id)) &&
		    numbers[i] && numbers[i] <= h->nunits) {
			*row = numbers[i] - 1;
			return true;
		}
	return false;
}

/*
 * Finds the parts of sections that belong to a unit.
 *   Errors   -ENOENT the file has no index; -ENODATA no such unit in it
 */
static int
find_parts(const struct elf_image *e, uint64_t id, struct dwarf_parts *out)
{
	const struct elf_section *s = elf_section(e, ".debug_cu_index");
	CLEANUP_FREE void *bytes = NULL;
	const uint32_t *numbers, *columns, *offsets, *sizes;
	struct index_header h;
	uint64_t cells, need;
	uint32_t row;
	int rc = s ? elf_copy(e, s->offset, s->size, MAX_INDEX, &bytes)
	           : -ENOENT;

	if (rc)
		return rc;
	if (s->size < sizeof(h))
		return -ENODATA;
	memcpy(&h, bytes, sizeof(h));
	h.version &= UINT16_MAX;
	cells = (uint64_t)h.ncolumns * h.nunits;
	need = sizeof(h) + (uint64_t)h.nslots * 12 + (uint64_t)h.ncolumns * 4 +
	       cells * 8;
	if (h.ncolumns > DWARF_MAX_PARTS || need > s->size)
		return -ENODATA;
	numbers = (const uint32_t *)((const uint8_t *)bytes + sizeof(h) +
	                             (size_t)h.nslots * 8);
	columns = numbers + h.nslots;
	offsets = columns + h.ncolumns;
	sizes = offsets + cells;
	if (!find_row(&h, (const uint8_t *)bytes + sizeof(h), numbers, id,
	              &row))
		return -ENODATA;
	for (uint32_t i = 0; i < h.ncolumns; i++) {
		const char *name = section_of(h.version, columns[i]);
		size_t at = (size_t)row * h.ncolumns + i;

		if (name)
			out->rows[out->n++] = (struct dwarf_part){
				name, offsets[at], sizes[at]};
	}
	return 0;
}

/* --- opening -------------------------------------------------------------- */

/* Finds the bytes of a section of the skeleton's file from an offset on. */
static void
take_bytes(Elf *main, const char *name, uint64_t from, struct dwarf_bytes *out)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(main, &names))
		return;
	while ((scn = elf_nextscn(main, scn))) {
		GElf_Shdr h;
		const char *is = gelf_getshdr(scn, &h)
		                         ? elf_strptr(main, names, h.sh_name)
		                         : NULL;
		const Elf_Data *d =
			is && !strcmp(is, name) ? elf_rawdata(scn, NULL) : NULL;

		if (d && d->d_buf && from < d->d_size)
			*out = (struct dwarf_bytes){
				name, (const uint8_t *)d->d_buf + from,
				d->d_size - from};
	}
}

static int
find_unit(struct dwarf_split *s, uint64_t id)
{
	Dwarf_CU *cu = NULL;
	uint64_t its;
	uint8_t type;

	while (!dwarf_get_units(s->dw, cu, &cu, NULL, &type, &s->unit, NULL))
		if (type == DW_UT_split_compile &&
		    !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &its, NULL,
		                   NULL) &&
		    its == id)
			return 0;
	return -ENODATA;
}

int
dwarf_split_open(const struct dwarf_skeleton *skeleton, Elf *main,
                 const struct elf_image *file, struct dwarf_split *out)
{
	struct dwarf_parts parts = {.n = 0};
	struct dwarf_bytes more[2] = {{.name = ".debug_addr"},
	                              {.name = ".debug_ranges"}};
	int rc = find_parts(file, skeleton->id, &parts);

	*out = (struct dwarf_split){.bytes = BUF_INIT(SYMBOLS_MAX_PIECE)};
	if (rc && rc != -ENOENT)
		return rc;
	take_bytes(main, ".debug_addr", skeleton->addresses, &more[0]);
	take_bytes(main, ".debug_ranges", skeleton->ranges, &more[1]);
	rc = dwarf_sections_split(file, &parts, more, ARRAY_LEN(more),
	                          &out->bytes);
	if (rc)
		return rc;
	out->elf = elf_memory(out->bytes.p, out->bytes.len);
	if (out->elf)
		out->dw = dwarf_begin_elf(out->elf, DWARF_C_READ, NULL);
	return out->dw ? find_unit(out, skeleton->id) : -ENODATA;
}

void
dwarf_split_done(struct dwarf_split *s)
{
	dwarf_end(s->dw);
	elf_end(s->elf);
	buf_done(&s->bytes);
}
