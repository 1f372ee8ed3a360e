#include "dwarf_sections.h"

#include "capture/elf/elf_packed.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const wanted[] = {
	".debug_info",        ".debug_types",    ".debug_abbrev",
	".debug_line",        ".debug_line_str", ".debug_str",
	".debug_ranges",      ".debug_rnglists", ".debug_addr",
	".debug_str_offsets",
};

#define NWANTED   ARRAY_LEN(wanted)
#define NAMES     1 /* section of names; 0 is unused */
#define NSECTIONS (NWANTED + 2)

struct layout {
	Elf64_Ehdr header;
	Elf64_Shdr sections[NSECTIONS];
	char names[256];
};

static void
lay_out(struct layout *l, uint16_t machine)
{
	size_t at = 1;

	*l = (struct layout){
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
	                               ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	                   .e_type = ET_DYN,
	                   .e_machine = machine,
	                   .e_version = EV_CURRENT,
	                   .e_shoff = offsetof(struct layout, sections),
	                   .e_ehsize = sizeof(Elf64_Ehdr),
	                   .e_shentsize = sizeof(Elf64_Shdr),
	                   .e_shnum = NSECTIONS,
	                   .e_shstrndx = NAMES}};
	l->sections[NAMES] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct layout, names),
		.sh_size = sizeof(l->names),
	};
	for (size_t i = 0; i < NWANTED; i++) {
		Elf64_Shdr *s = &l->sections[NAMES + 1 + i];

		s->sh_name = (uint32_t)at;
		s->sh_type = SHT_PROGBITS;
		s->sh_addralign = 1;
		strcpy(l->names + at, wanted[i]);
		at += strlen(wanted[i]) + 1;
	}
}
_Static_assert(NWANTED * sizeof(".debug_str_offsets") <
                       sizeof(((struct layout *)0)->names),
               "names fit");

static int
add_section(const struct elf_image *e, const struct elf_packed *p,
            struct buf *out)
{
	char *to = buf_reserve(out, p->size);
	int rc = to ? elf_packed_read(e, p, out->max, to) : buf_err(out);

	if (!rc)
		out->len += p->size;
	return rc;
}

/* Sums up the sizes, to reserve memory at once: large sections are then not
 * moved as others arrive. */
static uint64_t
bytes_of(const struct elf_image *e)
{
	struct elf_packed p;
	uint64_t total = 0;

	for (size_t i = 0; i < NWANTED; i++) {
		if (elf_packed_find(e, wanted[i], &p))
			continue;
		if (p.size > UINT64_MAX / NWANTED - total)
			return UINT64_MAX;
		total += p.size;
	}
	return total;
}

int
dwarf_sections(const struct elf_image *e, struct buf *out)
{
	uint64_t need = bytes_of(e);
	struct elf_packed p;
	struct layout l;
	int rc = 0;

	if (elf_packed_find(e, ".debug_info", &p))
		return -ENODATA;
	lay_out(&l, e->machine);
	if (need > out->max - sizeof(l) || !buf_reserve(out, sizeof(l) + need))
		return buf_err(out) ? buf_err(out) : -E2BIG;
	buf_add(out, &l, sizeof(l));
	for (size_t i = 0; i < NWANTED && !rc; i++) {
		Elf64_Shdr *row = &l.sections[NAMES + 1 + i];

		row->sh_offset = out->len;
		rc = elf_packed_find(e, wanted[i], &p);
		rc = rc == -ENOENT ? 0 : rc ?: add_section(e, &p, out);
		row->sh_size = out->len - row->sh_offset;
	}
	if (!rc)
		memcpy(out->p, &l, sizeof(l));
	return rc;
}

/* --- split DWARF ---------------------------------------------------------- */

/* Reduces the section that was added last to a part of it. */
static int
cut(struct buf *out, size_t from, const char *name,
    const struct dwarf_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++) {
		const struct dwarf_part *p = &parts->rows[i];

		if (strcmp(p->name, name) != 0)
			continue;
		if (p->offset > out->len - from ||
		    p->size > out->len - from - p->offset)
			return -ENODATA;
		memmove(out->p + from, out->p + from + p->offset, p->size);
		out->len = from + p->size;
	}
	return 0;
}

static int
add_split(const struct elf_image *e, const char *name,
          const struct dwarf_parts *parts, struct buf *out)
{
	char split[sizeof(".debug_str_offsets.dwo")];
	const size_t from = out->len;
	struct elf_packed p;
	int rc;

	snprintf(split, sizeof(split), "%s.dwo", name);
	rc = elf_packed_find(e, split, &p);
	if (rc == -ENOENT)
		return 0;
	rc = rc ?: add_section(e, &p, out);
	return rc ? rc : cut(out, from, name, parts);
}

int
dwarf_sections_split(const struct elf_image *e, const struct dwarf_parts *parts,
                     const struct dwarf_bytes *more, size_t nmore,
                     struct buf *out)
{
	struct elf_packed p;
	struct layout l;
	int rc = elf_packed_find(e, ".debug_info.dwo", &p) ? -ENODATA : 0;

	lay_out(&l, e->machine);
	buf_add(out, &l, sizeof(l));
	for (size_t i = 0; i < NWANTED && !rc; i++) {
		Elf64_Shdr *row = &l.sections[NAMES + 1 + i];

		row->sh_offset = out->len;
		rc = add_split(e, wanted[i], parts, out);
		for (size_t k = 0; k < nmore; k++)
			if (more[k].p && !strcmp(more[k].name, wanted[i]))
				buf_add(out, more[k].p, more[k].n);
		row->sh_size = out->len - row->sh_offset;
	}
	if (!rc)
		rc = buf_err(out);
	if (!rc)
		memcpy(out->p, &l, sizeof(l));
	return rc;
}
