#include "elf_private.h"

#include <elf.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#define CRC_CHUNK ((size_t)64 << 10)

static size_t
aligned4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* One pass over a block of notes; Source: gABI 5, Note Section. */
static void
scan_notes(struct elf_image *e, const char *p, size_t n)
{
	Elf64_Nhdr h;
	size_t name, desc;

	while (n >= sizeof(h) && !e->build_id_size) {
		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		n -= sizeof(h);
		name = aligned4(h.n_namesz);
		desc = aligned4(h.n_descsz);
		if (name > n || h.n_descsz > n - name)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(p, ELF_NOTE_GNU, 4) == 0 &&
		    h.n_descsz <= ELF_MAX_BUILD_ID) {
			memcpy(e->build_id, p + name, h.n_descsz);
			e->build_id_size = h.n_descsz;
		}
		if (desc > n - name)
			return;
		p += name + desc;
		n -= name + desc;
	}
}

static int
scan_notes_at(struct elf_image *e, uint64_t offset, uint64_t size)
{
	CLEANUP_FREE void *p = NULL;
	int r = elf_copy(e, offset, size, ELF_MAX_NOTES, &p);

	if (!r)
		scan_notes(e, p, (size_t)size);
	return r == -ENOMEM ? r : 0;
}

/* Sections first: a separate debug file's segments describe bytes that only
 * the stripped file has. */
int
elf_read_build_id(struct elf_image *e)
{
	const struct elf_segment *p;
	const struct elf_section *s;
	int r = 0;

	for (uint32_t i = 0; i < e->nsections && !e->build_id_size && !r; i++) {
		s = &e->sections[i];
		if (s->type == SHT_NOTE)
			r = scan_notes_at(e, s->offset, s->size);
	}
	for (uint32_t i = 0;
	     !e->build_id_size && !r && (p = elf_segment(e, PT_NOTE, i)); i++)
		r = scan_notes_at(e, p->offset, p->filesz);
	return r;
}

int
elf_debuglink(const struct elf_image *e, char name[ELF_MAX_NAME], uint32_t *crc)
{
	const struct elf_section *s = elf_section(e, ".gnu_debuglink");
	char text[ELF_MAX_NAME + 4] = "";
	size_t len, n;

	if (!s)
		return -ENOENT;
	n = s->size < sizeof(text) ? (size_t)s->size : sizeof(text);
	if (elf_read(e, s->offset, text, n))
		return -EINVAL;
	len = strnlen(text, n);
	if (!len || len >= ELF_MAX_NAME || aligned4(len + 1) + 4 > n ||
	    memchr(text, '/', len) || !strcmp(text, ".") || !strcmp(text, ".."))
		return -EINVAL;
	memcpy(crc, text + aligned4(len + 1), 4);
	memcpy(name, text, len + 1);
	return 0;
}

int
elf_debugaltlink(const struct elf_image *e, struct elf_altlink *out)
{
	const struct elf_section *s = elf_section(e, ".gnu_debugaltlink");
	char text[ELF_MAX_PATH + ELF_MAX_BUILD_ID];
	size_t len;

	if (!s)
		return -ENOENT;
	if (s->size > sizeof(text) || elf_read(e, s->offset, text, s->size))
		return -EINVAL;
	len = strnlen(text, s->size);
	if (!len || len >= ELF_MAX_PATH || len + 1 >= s->size ||
	    s->size - len - 1 > ELF_MAX_BUILD_ID)
		return -EINVAL;
	memcpy(out->name, text, len + 1);
	out->build_id_size = (uint32_t)(s->size - len - 1);
	memcpy(out->build_id, text + len + 1, out->build_id_size);
	return 0;
}

static int
file_crc(const struct elf_image *e, uint32_t *out)
{
	CLEANUP_FREE char *p = malloc(CRC_CHUNK);
	uint32_t crc = 0;
	uint64_t at = 0;
	size_t n;
	int r;

	if (!p)
		return -ENOMEM;
	for (; at < e->size; at += n) {
		n = e->size - at < CRC_CHUNK ? (size_t)(e->size - at)
		                             : CRC_CHUNK;
		r = elf_read(e, at, p, n);
		if (r)
			return r;
		crc = libdeflate_crc32(crc, p, n);
	}
	*out = crc;
	return 0;
}

int
elf_debug_matches(const struct elf_image *e, const struct elf_image *debug)
{
	char name[ELF_MAX_NAME];
	uint32_t want, have;
	int r;

	if (e->build_id_size)
		return e->build_id_size == debug->build_id_size &&
		                       !memcmp(e->build_id, debug->build_id,
		                               e->build_id_size)
		               ? 0
		               : -ESTALE;
	if (elf_debuglink(e, name, &want))
		return -ESTALE;
	r = file_crc(debug, &have);
	if (r)
		return r;
	return have == want ? 0 : -ESTALE;
}
