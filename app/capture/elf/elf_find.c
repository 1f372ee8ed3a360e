#include "elf_private.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_DYNAMIC 256 /* rows of a dynamic section; linkers write 40 */

const struct elf_segment *
elf_segment(const struct elf_image *e, uint32_t type, uint32_t skip)
{
	for (uint32_t i = 0; i < e->nsegments; i++)
		if (e->segments[i].type == type && skip-- == 0)
			return &e->segments[i];
	return NULL;
}

bool
elf_read_is_program(const struct elf_image *e)
{
	const struct elf_segment *s = elf_segment(e, PT_DYNAMIC, 0);
	Elf64_Dyn rows[MAX_DYNAMIC];
	size_t n;

	if (e->type != ET_DYN)
		return e->type == ET_EXEC;
	n = !s ? 0 : s->filesz / sizeof(*rows);
	if (n > MAX_DYNAMIC)
		n = MAX_DYNAMIC;
	if (!n || elf_read(e, s->offset, rows, n * sizeof(*rows)))
		return false;
	for (size_t i = 0; i < n && rows[i].d_tag != DT_NULL; i++)
		if (rows[i].d_tag == DT_FLAGS_1)
			return rows[i].d_un.d_val & DF_1_PIE;
	return false;
}

static bool
is_named(const struct elf_image *e, uint32_t i, const char *name)
{
	uint32_t at = e->section_names[i];

	return at < e->strtab_size && strcmp(e->strtab + at, name) == 0;
}

const struct elf_section *
elf_section(const struct elf_image *e, const char *name)
{
	for (uint32_t i = 0; i < e->nsections; i++)
		if (e->sections[i].type != SHT_NOBITS && is_named(e, i, name))
			return &e->sections[i];
	return NULL;
}

const struct elf_section *
elf_section_typed(const struct elf_image *e, uint32_t type)
{
	for (uint32_t i = 0; i < e->nsections; i++)
		if (e->sections[i].type == type)
			return &e->sections[i];
	return NULL;
}

bool
elf_offset_of(const struct elf_image *e, uint64_t vaddr, uint64_t *offset,
              uint64_t *left)
{
	const struct elf_segment *s;
	uint64_t delta, at, n;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++) {
		delta = vaddr - s->vaddr;
		if (vaddr < s->vaddr || delta >= s->filesz)
			continue;
		at = s->offset + delta;
		if (at < delta || at >= e->size)
			continue;
		n = s->filesz - delta;
		*offset = at;
		*left = n < e->size - at ? n : e->size - at;
		return true;
	}
	return false;
}

bool
elf_vaddr_of(const struct elf_image *e, uint64_t offset, uint64_t *vaddr)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		if (offset >= s->offset && offset - s->offset < s->filesz) {
			*vaddr = s->vaddr + (offset - s->offset);
			return true;
		}
	return false;
}

int
elf_bias(const struct elf_image *e, uint64_t start, uint64_t offset,
         uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first;
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++) {
		first = s->offset & ~(page - 1);
		if (!(s->flags & PF_X) || offset < first ||
		    offset - first >= s->filesz + (s->offset - first))
			continue;
		*bias = start - offset + s->offset - s->vaddr;
		return 0;
	}
	return -ENOENT;
}
