#include "elf_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RELAS (1u << 20) /* of all sections */

static bool
is_in_file(const struct elf_image *e, const struct elf_section *s)
{
	return s->type != SHT_NOBITS && s->offset <= e->size &&
	       s->size <= e->size - s->offset;
}

/* True for a section that lies in the program's memory. */
static bool
is_loaded(const struct elf_section *s)
{
	return s->flags & SHF_ALLOC && s->vaddr && s->size &&
	       s->size <= ELF_MAX_OBJECT && s->vaddr + s->size > s->vaddr;
}

static bool
is_code(const struct elf_section *s)
{
	return is_loaded(s) && s->flags & SHF_EXECINSTR;
}

static const char *
name_of(const struct elf_image *e, const struct elf_section *s)
{
	uint32_t at = e->section_names[s - e->sections];

	return at < e->strtab_size ? e->strtab + at : "";
}

/* True for a section that describes code by its address. */
static bool
is_described(const struct elf_image *e, const struct elf_section *s)
{
	const char *name = name_of(e, s);

	return !strcmp(name, ".eh_frame") || !strncmp(name, ".debug_", 7);
}

/* --- segments ------------------------------------------------------------- */

static int
add_segment(struct elf_image *e, const struct elf_section *s, uint64_t offset)
{
	if (e->nsegments == ELF_MAX_SEGMENTS)
		return -E2BIG;
	e->segments[e->nsegments++] = (struct elf_segment){
		.type = PT_LOAD,
		.flags = PF_R | (is_code(s) ? PF_X : 0),
		.offset = offset,
		.vaddr = s->vaddr,
		.filesz = s->size,
		.memsz = s->size,
		.align = 1,
	};
	return 0;
}

/* Appends a section's code to the image. */
static int
add_code(struct elf_image *e, const struct elf_section *s,
         elf_object_read *read, void *arg)
{
	const uint64_t at = e->size;
	uint8_t *mem;

	if (s->size > ELF_MAX_OBJECT - at)
		return -E2BIG;
	mem = realloc(e->mem, at + s->size + 1);
	if (!mem)
		return -ENOMEM;
	e->mem = mem;
	if (read(arg, s->vaddr, mem + at, s->size))
		return is_in_file(e, s) ? add_segment(e, s, s->offset) : 0;
	e->size += s->size;
	return add_segment(e, s, at);
}

static int
add_segments(struct elf_image *e, elf_object_read *read, void *arg)
{
	int rc = 0;

	e->nsegments = 0;
	for (uint32_t i = 0; i < e->nsections && !rc; i++)
		if (is_code(&e->sections[i]))
			rc = add_code(e, &e->sections[i], read, arg);
	if (!rc && !e->nsegments)
		return -ENODATA;
	for (uint32_t i = 0; i < e->nsections && !rc; i++) {
		const struct elf_section *s = &e->sections[i];

		if (is_loaded(s) && !is_code(s) && is_described(e, s) &&
		    is_in_file(e, s))
			rc = add_segment(e, s, s->offset);
	}
	return rc;
}

/* --- addresses ------------------------------------------------------------ */

/* Adds the address of its section to each symbol. */
static void
place_symbols(struct elf_image *e, const struct elf_section *table)
{
	Elf64_Sym sym;

	for (uint64_t at = 0; at + sizeof(sym) <= table->size;
	     at += sizeof(sym)) {
		uint8_t *p = e->mem + table->offset + at;

		memcpy(&sym, p, sizeof(sym));
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= e->nsections)
			continue;
		sym.st_value += e->sections[sym.st_shndx].vaddr;
		memcpy(p, &sym, sizeof(sym));
	}
}

/* Returns the size of a place with an address or a distance; 0 for other kinds
 * of relocation, which only code has. */
static size_t
size_of_place(uint16_t machine, uint64_t type, bool *distance)
{
	const bool arm = machine == EM_AARCH64;

	*distance = type == (arm ? R_AARCH64_PREL32 : R_X86_64_PC32) ||
	            type == (arm ? R_AARCH64_PREL64 : R_X86_64_PC64);
	if (type == (arm ? R_AARCH64_ABS64 : R_X86_64_64) ||
	    type == (arm ? R_AARCH64_PREL64 : R_X86_64_PC64))
		return 8;
	if (type == (arm ? R_AARCH64_ABS32 : R_X86_64_32) ||
	    type == (arm ? R_AARCH64_PREL32 : R_X86_64_PC32))
		return 4;
	return 0;
}

static void
fill_in(struct elf_image *e, const struct elf_section *target,
        const struct elf_section *table, const Elf64_Rela *r)
{
	const uint64_t row = ELF64_R_SYM(r->r_info);
	bool distance;
	size_t n =
		size_of_place(e->machine, ELF64_R_TYPE(r->r_info), &distance);
	uint64_t value;
	Elf64_Sym sym;

	if (!n || r->r_offset > target->size ||
	    n > target->size - r->r_offset || row >= table->size / sizeof(sym))
		return;
	memcpy(&sym, e->mem + table->offset + row * sizeof(sym), sizeof(sym));
	value = sym.st_value + (uint64_t)r->r_addend;
	if (distance)
		value -= target->vaddr + r->r_offset;
	memcpy(e->mem + target->offset + r->r_offset, &value, n);
}

/* Fills in at most max places; returns their number. */
static uint64_t
fill_in_all(struct elf_image *e, const struct elf_section *relas,
            const struct elf_section *table, uint64_t max)
{
	const struct elf_section *target = &e->sections[relas->info];
	uint64_t n = relas->size / sizeof(Elf64_Rela);
	Elf64_Rela r;

	if (n > max)
		n = max;
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&r, e->mem + relas->offset + i * sizeof(r), sizeof(r));
		fill_in(e, target, table, &r);
	}
	return n;
}

/* Turns offsets from the start of a section into addresses. */
static void
place(struct elf_image *e)
{
	const struct elf_section *table = elf_section_typed(e, SHT_SYMTAB);
	uint64_t left = MAX_RELAS;

	if (!table || !is_in_file(e, table))
		return;
	place_symbols(e, table);
	for (uint32_t i = 0; i < e->nsections; i++) {
		const struct elf_section *s = &e->sections[i], *target;

		if (s->type != SHT_RELA || s->info >= e->nsections)
			continue;
		target = &e->sections[s->info];
		if (is_in_file(e, s) && is_in_file(e, target) &&
		    is_described(e, target) &&
		    !(target->flags & SHF_COMPRESSED))
			left -= fill_in_all(e, s, table, left);
	}
}

int
elf_open_object(const void *p, size_t n, elf_object_read *read, void *arg,
                struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	int rc = n > ELF_MAX_OBJECT ? -E2BIG : elf_open_memory(p, n, &e);

	if (rc)
		return rc;
	if (e->no_headers)
		return -ENODATA;
	if (e->type == ET_REL)
		place(e);
	rc = add_segments(e, read, arg);
	if (rc)
		return rc;
	e->type = ET_DYN;
	e->is_program = false;
	*out = TAKE(e);
	return 0;
}
