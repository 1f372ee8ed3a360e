#include "dwarf_index.h"

#include "dwarf_unit.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t start, end; /* vaddr */
	uint32_t unit;
};

struct slot {
	Dwarf_Off die;
	struct dwarf_unit *unit; /* NULL: not asked for yet, or broken */
	bool tried;
};

struct dwarf_index {
	Elf *elf, *no_elf;
	Dwarf *dw, *none;
	struct range *ranges; /* ascending */
	uint32_t nranges, ranges_cap;
	struct slot *units;
	uint32_t nunits, units_cap;
};

/*
 * An image with no names in it. Set as the supplementary file, it keeps
 * libdw 0.188 from opening the path that .gnu_debugaltlink asks for.
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

static int
refuse_supplement(struct dwarf_index *ix)
{
	ix->no_elf = elf_memory((char *)&no_file, sizeof(no_file));
	if (ix->no_elf)
		ix->none = dwarf_begin_elf(ix->no_elf, DWARF_C_READ, NULL);
	if (!ix->none)
		return -ENOMEM;
	dwarf_setalt(ix->dw, ix->none);
	return 0;
}

/* What libdw will hold in memory: compressed sections count as they unpack.
 * Source: gABI 4, Compressed Sections. */
static uint64_t
debug_bytes(const struct elf_image *e)
{
	uint64_t total = 0, n;
	Elf64_Chdr c;

	for (uint32_t i = 0; i < e->nsections; i++) {
		const struct elf_section *s = &e->sections[i];

		if (s->flags & SHF_ALLOC || s->type == SHT_NOBITS)
			continue;
		n = s->size;
		if (s->flags & SHF_COMPRESSED &&
		    !elf_read(e, s->offset, &c, sizeof(c)))
			n = c.ch_size;
		if (n > DWARF_MAX_BYTES || total + n > DWARF_MAX_BYTES)
			return UINT64_MAX;
		total += n;
	}
	return total;
}

/* ELF_C_READ copies sections; the default would map the file, and a file cut
 * short would then end us by SIGBUS. */
static int
open_dwarf(struct dwarf_index *ix, const struct elf_image *e)
{
	if (!elf_section(e, ".debug_info"))
		return -ENODATA;
	if (debug_bytes(e) > DWARF_MAX_BYTES)
		return -E2BIG;
	elf_version(EV_CURRENT);
	ix->elf = e->mem ? elf_memory((char *)e->mem, e->size)
	                 : elf_begin(e->fd, ELF_C_READ, NULL);
	if (ix->elf)
		ix->dw = dwarf_begin_elf(ix->elf, DWARF_C_READ, NULL);
	return ix->dw ? refuse_supplement(ix) : -ENODATA;
}

static int
add_range(struct dwarf_index *ix, uint64_t start, uint64_t end)
{
	struct range *more;
	uint32_t cap;

	if (start >= end)
		return 0;
	if (ix->nranges == DWARF_MAX_RANGES)
		return -E2BIG;
	if (ix->nranges == ix->ranges_cap) {
		cap = ix->ranges_cap ? ix->ranges_cap * 2 : 256;
		more = reallocarray(ix->ranges, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		ix->ranges = more;
		ix->ranges_cap = cap;
	}
	ix->ranges[ix->nranges++] = (struct range){start, end, ix->nunits};
	return 0;
}

static int
add_unit(struct dwarf_index *ix, Dwarf_Off die)
{
	struct slot *more;
	uint32_t cap;

	if (ix->nunits == ix->units_cap) {
		cap = ix->units_cap ? ix->units_cap * 2 : 64;
		more = reallocarray(ix->units, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		ix->units = more;
		ix->units_cap = cap;
	}
	ix->units[ix->nunits++] = (struct slot){.die = die};
	return 0;
}

/* All units, not .debug_aranges: clang doesn't write those. */
static int
find_units(struct dwarf_index *ix)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	Dwarf_Addr base, start, end;
	ptrdiff_t at;
	uint8_t type;
	int r = 0;

	while (!r &&
	       !dwarf_get_units(ix->dw, cu, &cu, NULL, &type, &die, NULL)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		at = 0;
		while (!r &&
		       (at = dwarf_ranges(&die, at, &base, &start, &end)) > 0)
			r = add_range(ix, start, end);
		if (!r)
			r = add_unit(ix, dwarf_dieoffset(&die));
	}
	return r;
}

static int
by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

int
dwarf_index_new(const struct elf_image *e, struct dwarf_index **out)
{
	CLEANUP_DWARF_INDEX struct dwarf_index *ix = calloc(1, sizeof(*ix));
	int r;

	if (!ix)
		return -ENOMEM;
	r = open_dwarf(ix, e);
	if (!r)
		r = find_units(ix);
	if (r)
		return r;
	if (!ix->nranges)
		return -ENODATA;
	qsort(ix->ranges, ix->nranges, sizeof(*ix->ranges), by_start);
	*out = TAKE(ix);
	return 0;
}

void
dwarf_index_free(struct dwarf_index *ix)
{
	if (!ix)
		return;
	for (uint32_t i = 0; i < ix->nunits; i++)
		dwarf_unit_free(ix->units[i].unit);
	free(ix->units);
	free(ix->ranges);
	dwarf_end(ix->dw);
	dwarf_end(ix->none);
	elf_end(ix->elf);
	elf_end(ix->no_elf);
	free(ix);
}

static struct slot *
find_slot(struct dwarf_index *ix, uint64_t vaddr)
{
	uint32_t lo = 0, hi = ix->nranges, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (ix->ranges[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= ix->ranges[lo - 1].end)
		return NULL;
	return &ix->units[ix->ranges[lo - 1].unit];
}

size_t
dwarf_index_lookup(struct dwarf_index *ix, uint64_t vaddr,
                   struct dwarf_frame *out, size_t max)
{
	struct slot *s = find_slot(ix, vaddr);

	if (!s)
		return 0;
	if (!s->tried) {
		s->tried = true;
		if (dwarf_unit_new(ix->dw, s->die, &s->unit))
			s->unit = NULL;
	}
	return s->unit ? dwarf_unit_lookup(s->unit, ix->dw, vaddr, out, max)
	               : 0;
}
