#include "elf_packed.h"

#include <endian.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* in <elf.h> since glibc 2.36 */
#endif
#define DEBUG    ".debug_"
#define OLD      ".zdebug_"
#define MOST_OLD 64 /* bytes of such a name */

/* Precedes the bytes of .zdebug_NAME. */
struct old_header {
	char magic[4];
	uint64_t size; /* big endian */
} __attribute__((packed));

static void
skip(struct elf_packed *p, uint64_t n)
{
	p->offset += n;
	p->n -= n;
}

static int
find_old(const struct elf_image *e, const char *name, struct elf_packed *out)
{
	const struct elf_section *s;
	struct old_header h;
	char old[MOST_OLD];
	int rc;

	if (strncmp(name, DEBUG, strlen(DEBUG)) != 0)
		return -ENOENT;
	snprintf(old, sizeof(old), OLD "%s", name + strlen(DEBUG));
	s = elf_section(e, old);
	if (!s)
		return -ENOENT;
	rc = s->size < sizeof(h) ? -ENODATA
	                         : elf_read(e, s->offset, &h, sizeof(h));
	if (rc || memcmp(h.magic, "ZLIB", sizeof(h.magic)) != 0)
		return rc ? rc : -ENODATA;
	*out = (struct elf_packed){s->offset, s->size, be64toh(h.size),
	                           ELF_ZLIB};
	skip(out, sizeof(h));
	return 0;
}

int
elf_packed_find(const struct elf_image *e, const char *name,
                struct elf_packed *out)
{
	const struct elf_section *s = elf_section(e, name);
	Elf64_Chdr h;
	int rc;

	if (!s)
		return find_old(e, name, out);
	*out = (struct elf_packed){s->offset, s->size, s->size, ELF_PLAIN};
	if (!(s->flags & SHF_COMPRESSED))
		return 0;
	rc = s->size < sizeof(h) ? -ENODATA
	                         : elf_read(e, s->offset, &h, sizeof(h));
	if (rc)
		return rc;
	if (h.ch_type != ELFCOMPRESS_ZLIB && h.ch_type != ELFCOMPRESS_ZSTD)
		return -ENODATA;
	out->form = h.ch_type == ELFCOMPRESS_ZLIB ? ELF_ZLIB : ELF_ZSTD;
	out->size = h.ch_size;
	skip(out, sizeof(h));
	return 0;
}

static int
inflate(const struct elf_packed *p, const void *in, void *to)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum libdeflate_result r;

	if (!d)
		return -ENOMEM;
	r = libdeflate_zlib_decompress(d, in, p->n, to, p->size, NULL);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS ? 0 : -ENODATA;
}

int
elf_packed_read(const struct elf_image *e, const struct elf_packed *p,
                uint64_t max, void *to)
{
	CLEANUP_FREE void *in = NULL;
	int rc;

	if (p->form == ELF_PLAIN)
		return elf_read(e, p->offset, to, p->size);
	rc = elf_copy(e, p->offset, p->n, max, &in);
	if (rc)
		return rc;
	if (p->form == ELF_ZLIB)
		return inflate(p, in, to);
	return ZSTD_decompress(to, p->size, in, p->n) == p->size ? 0 : -ENODATA;
}
