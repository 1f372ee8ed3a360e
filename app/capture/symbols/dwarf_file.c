#include "dwarf_file.h"

#include "base/rows.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

/*
 * An image without names. As the supplementary file, it keeps libdw 0.188 from
 * opening the path in .gnu_debugaltlink.
 */
static const struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
} no_file = {
	.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 1},
	.sections = {{0},
                     {.sh_name = 1,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                      .sh_size = 32},
                     {.sh_name = 11,
                      .sh_type = SHT_PROGBITS,
                      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                      .sh_size = 4}},
	.names = "\0.shstrtab\0.debug_line",
};

static bool
supplement(struct dwarf_file *f, const void *p, size_t n)
{
	f->alt_elf = elf_memory((char *)p, n);
	if (f->alt_elf)
		f->alt = dwarf_begin_elf(f->alt_elf, DWARF_C_READ, NULL);
	if (f->alt) {
		dwarf_setalt(f->dw, f->alt);
		return true;
	}
	elf_end(f->alt_elf);
	f->alt_elf = NULL;
	return false;
}

static int
set_supplement(struct dwarf_file *f, const struct symbols_piece *shared)
{
	if (shared->n && supplement(f, shared->p, shared->n))
		return 0;
	return supplement(f, &no_file, sizeof(no_file)) ? 0 : -ENOMEM;
}

int
dwarf_file_open(const struct symbols_piece *sections,
                const struct symbols_piece *shared, struct dwarf_file *f)
{
	*f = (struct dwarf_file){0};
	if (!sections->n)
		return -ENODATA;
	elf_version(EV_CURRENT);
	f->elf = elf_memory((char *)sections->p, sections->n);
	if (f->elf)
		f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	return f->dw ? set_supplement(f, shared) : -ENODATA;
}

void
dwarf_file_done(struct dwarf_file *f)
{
	dwarf_end(f->dw);
	dwarf_end(f->alt);
	elf_end(f->elf);
	elf_end(f->alt_elf);
}

/* --- index of units ------------------------------------------------------- */

static int
add_ranges(Dwarf_Die *die, struct buf *out)
{
	struct dwarf_range r = {.unit = dwarf_dieoffset(die)};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (out->len >= DWARF_MAX_RANGES * sizeof(r))
			return -E2BIG;
		r.start = start;
		r.end = end;
		if (start < end)
			buf_add(out, &r, sizeof(r));
	}
	return buf_err(out);
}

static int
by_start(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->start != y->start)
		return (x->start > y->start) - (x->start < y->start);
	return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Indexes all units by their own ranges, since clang writes no
 * .debug_aranges. */
int
dwarf_index_build(Dwarf *dw, struct buf *out)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	int rc = 0;

	while (!rc && !dwarf_get_units(dw, cu, &cu, NULL, &type, &die, NULL))
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			rc = add_ranges(&die, out);
	if (!rc && out->len)
		qsort(out->p, out->len / sizeof(struct dwarf_range),
		      sizeof(struct dwarf_range), by_start);
	return rc;
}

int
dwarf_index_open(const struct symbols_piece *piece, struct dwarf_index *out)
{
	if (piece->n % sizeof(struct dwarf_range))
		return -EBADMSG;
	*out = (struct dwarf_index){piece->p,
	                            piece->n / sizeof(struct dwarf_range)};
	return 0;
}

bool
dwarf_index_lookup(const struct dwarf_index *ix, uint64_t vaddr, uint64_t *unit)
{
	size_t lo = ROWS_WHILE(ix->n, i, ix->ranges[i].start <= vaddr);

	if (!lo || vaddr >= ix->ranges[lo - 1].end)
		return false;
	*unit = ix->ranges[lo - 1].unit;
	return true;
}
