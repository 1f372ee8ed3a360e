#include "capture/local_debug.h"

#include "capture/elf/elf.h"
#include "capture/elf/elf_id.h"
#include "capture/symbols/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

#define ALIGN      16
#define LEVEL      6
#define MIN_PACKED 1024 /* smaller sections are not compressed */
#define MAX_RAW    ((size_t)1 << 30)

struct shrinking {
	const struct elf_image *elf;
	Elf64_Ehdr head;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	char *names; /* of sections, NUL-terminated */
	size_t names_size;
	struct buf *out;
};

static void
shrinking_done(struct shrinking *k)
{
	free(k->segments);
	free(k->sections);
	free(k->names);
}

void
local_debug_done(struct local_debug *d)
{
	buf_done(&d->bytes);
}

static const char *
name_of(const struct shrinking *k, const Elf64_Shdr *s)
{
	return s->sh_name < k->names_size ? k->names + s->sh_name : "";
}

/* --- what is kept --------------------------------------------------------- */

static bool
begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* True for debug information that names no function, file or line. */
static bool
is_other_debug(const char *name)
{
	static const char *const others[] = {
		".debug_loc",          ".debug_loclists",     ".debug_macro",
		".debug_macinfo",      ".debug_frame",        ".debug_names",
		".debug_pubnames",     ".debug_pubtypes",     ".gdb_index",
		".debug_gnu_pubnames", ".debug_gnu_pubtypes",
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (!strcmp(name, others[i]))
			return true;
	return false;
}

static bool
is_kept(const struct shrinking *k, const Elf64_Shdr *s)
{
	const char *name = name_of(k, s);

	if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL)
		return false;
	if (!(s->sh_flags & SHF_ALLOC))
		return !is_other_debug(name);
	return s->sh_type == SHT_NOTE || s->sh_type == SHT_DYNSYM ||
	       s->sh_type == SHT_STRTAB || begins(name, ".plt") ||
	       begins(name, ".rela.plt");
}

/* --- writing -------------------------------------------------------------- */

static void
align(struct buf *out)
{
	static const char zeros[ALIGN];

	buf_add(out, zeros, -out->len % ALIGN);
}

static int
copy(const struct shrinking *k, uint64_t offset, uint64_t n)
{
	CLEANUP_FREE void *bytes = NULL;
	int rc = elf_copy(k->elf, offset, n, MAX_RAW, &bytes);

	if (!rc)
		buf_add(k->out, bytes, n);
	return rc ?: buf_err(k->out);
}

/* Compresses a section; -ENOSPC if that saves nothing.
 *   Source   gABI 4, Compressed Sections */
static int
pack(const struct shrinking *k, Elf64_Shdr *s)
{
	const Elf64_Chdr head = {.ch_type = ELFCOMPRESS_ZLIB,
	                         .ch_size = s->sh_size,
	                         .ch_addralign = s->sh_addralign};
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	CLEANUP_FREE void *bytes = NULL, *packed = malloc(s->sh_size);
	int rc = c && packed ? elf_copy(k->elf, s->sh_offset, s->sh_size,
	                                MAX_RAW, &bytes)
	                     : -ENOMEM;
	size_t n = rc ? 0
	              : libdeflate_zlib_compress(c, bytes, s->sh_size, packed,
	                                         s->sh_size);

	libdeflate_free_compressor(c);
	if (rc || !n)
		return rc ?: -ENOSPC;
	buf_add(k->out, &head, sizeof(head));
	buf_add(k->out, packed, n);
	s->sh_flags |= SHF_COMPRESSED;
	s->sh_size = sizeof(head) + n;
	s->sh_addralign = 8;
	return buf_err(k->out);
}

/* Writes a section's bytes, or marks it as one without bytes. */
static int
write_section(const struct shrinking *k, Elf64_Shdr *s)
{
	uint64_t at;
	int rc = -ENOSPC;

	if (!is_kept(k, s)) {
		if (s->sh_type != SHT_NULL)
			s->sh_type = SHT_NOBITS;
		return 0;
	}
	align(k->out);
	at = k->out->len;
	if (begins(name_of(k, s), ".debug_") && s->sh_size >= MIN_PACKED &&
	    s->sh_size <= MAX_RAW && !(s->sh_flags & SHF_COMPRESSED))
		rc = pack(k, s);
	if (rc == -ENOSPC)
		rc = copy(k, s->sh_offset, s->sh_size);
	s->sh_offset = at;
	return rc;
}

static int
read_headers(struct shrinking *k)
{
	const Elf64_Ehdr *h = &k->head;
	const Elf64_Shdr *names;
	int rc = elf_read(k->elf, 0, &k->head, sizeof(k->head));

	if (!rc && (!h->e_shnum || h->e_shstrndx >= h->e_shnum))
		rc = -ENODATA;
	rc = rc ?: elf_copy(k->elf, h->e_phoff,
	                    h->e_phnum * sizeof(*k->segments), MAX_RAW,
	                    (void **)&k->segments)
	                ?: elf_copy(k->elf, h->e_shoff,
	                            h->e_shnum * sizeof(*k->sections), MAX_RAW,
	                            (void **)&k->sections);
	if (rc)
		return rc;
	names = &k->sections[h->e_shstrndx];
	k->names_size = names->sh_size;
	return elf_copy(k->elf, names->sh_offset, names->sh_size, MAX_RAW,
	                (void **)&k->names);
}

static int
shrink(struct shrinking *k)
{
	Elf64_Ehdr *h = &k->head;
	int rc = 0;

	/* Only the addresses of code are needed. Other segments refer to bytes
	 * that are elsewhere in the new file. */
	for (uint32_t i = 0; i < h->e_phnum; i++)
		if (k->segments[i].p_type != PT_LOAD)
			k->segments[i].p_type = PT_NULL;
	buf_add(k->out, h, sizeof(*h));
	buf_add(k->out, k->segments, h->e_phnum * sizeof(*k->segments));
	for (uint32_t i = 0; i < h->e_shnum && !rc; i++)
		rc = write_section(k, &k->sections[i]);
	align(k->out);
	h->e_phoff = sizeof(*h);
	h->e_shoff = k->out->len;
	buf_add(k->out, k->sections, h->e_shnum * sizeof(*k->sections));
	if (rc || buf_err(k->out))
		return rc ?: buf_err(k->out);
	memcpy(k->out->p, h, sizeof(*h));
	return 0;
}

/* --- reading -------------------------------------------------------------- */

static bool
is_go(const struct elf_image *e)
{
	return elf_section(e, ".gopclntab") ||
	       elf_section(e, ".data.rel.ro.gopclntab");
}

/* Sets an identifier, unless it is too long. */
static void
set_id(char out[static LOCAL_DEBUG_ID], const char *id)
{
	if (strlen(id) < LOCAL_DEBUG_ID)
		strcpy(out, id);
}

/* Gets the identifiers; the first that the file has becomes build_id. */
static int
read_ids(const struct elf_image *e, struct local_debug *d)
{
	char gnu[ELF_ID_MAX], go[ELF_ID_MAX], hash[ELF_ID_MAX];
	int rc = elf_htlhash(e, hash);

	if (rc)
		return rc;
	elf_gnu_id(e, gnu);
	elf_go_id(e, go);
	set_id(d->build_id, *gnu ? gnu : *go ? go : hash);
	set_id(d->go_id, go);
	set_id(d->htlhash, hash);
	return 0;
}

static int
open_image(const char *path, struct elf_image **out)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 ? -errno : elf_open_fd(fd, out);

	if (!rc)
		TAKE_FD(fd);
	return rc;
}

int
local_debug_read(const char *path, size_t max, struct local_debug *out)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_LOCAL_DEBUG struct local_debug d = {.bytes = BUF_INIT(max)};
	CLEANUP(shrinking_done) struct shrinking k = {.out = &d.bytes};
	int rc = open_image(path, &e);

	if (rc)
		return rc;
	if (!debug_file_names(e))
		return -ENODATA;
	k.elf = e;
	rc = read_ids(e, &d);
	if (!rc && (is_go(e) || !e->build_id_size))
		rc = copy(&k, 0, e->size);
	else if (!rc)
		rc = read_headers(&k) ?: shrink(&k);
	if (rc)
		return rc;
	*out = d;
	d = (struct local_debug){.bytes = BUF_INIT(0)};
	return 0;
}
