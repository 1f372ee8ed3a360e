#include "dwarf_sections.h"

#include <elf.h>
#include <errno.h>
#include <libdeflate.h>
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
unpack(const void *in, size_t nin, void *out, size_t nout)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum libdeflate_result r;

	if (!d)
		return -ENOMEM;
	r = libdeflate_zlib_decompress(d, in, nin, out, nout, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS ? 0 : -ENODATA;
}

static int
add_packed(const struct elf_image *e, const struct elf_section *s,
           struct buf *out)
{
	CLEANUP_FREE char *in = NULL;
	Elf64_Chdr c;
	void *p = NULL;
	char *to;
	int rc = s->size < sizeof(c) ? -ENODATA : 0;

	if (!rc)
		rc = elf_copy(e, s->offset, s->size, out->max, &p);
	if (rc)
		return rc;
	in = p;
	memcpy(&c, in, sizeof(c));
	if (c.ch_type != ELFCOMPRESS_ZLIB)
		return -ENODATA;
	to = buf_reserve(out, c.ch_size);
	if (!to)
		return buf_err(out);
	rc = unpack(in + sizeof(c), s->size - sizeof(c), to, c.ch_size);
	if (!rc)
		out->len += c.ch_size;
	return rc;
}

static int
add_plain(const struct elf_image *e, const struct elf_section *s,
          struct buf *out)
{
	char *to = buf_reserve(out, s->size);
	int rc = to ? elf_read(e, s->offset, to, s->size) : buf_err(out);

	if (!rc)
		out->len += s->size;
	return rc;
}

static int
add_section(const struct elf_image *e, const struct elf_section *s,
            struct buf *out)
{
	return s->flags & SHF_COMPRESSED ? add_packed(e, s, out)
	                                 : add_plain(e, s, out);
}

/* Sums up the sizes, to reserve memory at once: large sections are then not
 * moved as others arrive. */
static uint64_t
bytes_of(const struct elf_image *e)
{
	uint64_t total = 0;
	Elf64_Chdr c;

	for (size_t i = 0; i < NWANTED; i++) {
		const struct elf_section *s = elf_section(e, wanted[i]);

		if (!s)
			continue;
		c.ch_size = s->size;
		if (s->flags & SHF_COMPRESSED &&
		    elf_read(e, s->offset, &c, sizeof(c)))
			return UINT64_MAX;
		if (c.ch_size > UINT64_MAX / NWANTED - total)
			return UINT64_MAX;
		total += c.ch_size;
	}
	return total;
}

int
dwarf_sections(const struct elf_image *e, struct buf *out)
{
	uint64_t need = bytes_of(e);
	struct layout l;
	int rc = 0;

	if (!elf_section(e, ".debug_info"))
		return -ENODATA;
	lay_out(&l, e->machine);
	if (need > out->max - sizeof(l) || !buf_reserve(out, sizeof(l) + need))
		return buf_err(out) ? buf_err(out) : -E2BIG;
	buf_add(out, &l, sizeof(l));
	for (size_t i = 0; i < NWANTED && !rc; i++) {
		const struct elf_section *s = elf_section(e, wanted[i]);
		Elf64_Shdr *row = &l.sections[NAMES + 1 + i];

		row->sh_offset = out->len;
		if (s)
			rc = add_section(e, s, out);
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
	const struct elf_section *s;
	const size_t from = out->len;
	int rc;

	snprintf(split, sizeof(split), "%s.dwo", name);
	s = elf_section(e, split);
	if (!s)
		return 0;
	rc = add_section(e, s, out);
	return rc ? rc : cut(out, from, name, parts);
}

int
dwarf_sections_split(const struct elf_image *e, const struct dwarf_parts *parts,
                     const struct dwarf_bytes *more, size_t nmore,
                     struct buf *out)
{
	struct layout l;
	int rc = elf_section(e, ".debug_info.dwo") ? 0 : -ENODATA;

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
