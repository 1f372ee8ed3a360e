#include "elf.h"

#include "elf_private.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
elf_read(const struct elf_image *e, uint64_t offset, void *dst, size_t n)
{
	size_t done = 0;
	ssize_t r;

	if (offset > e->size || n > e->size - offset)
		return -EIO;
	if (e->mem) {
		memcpy(dst, e->mem + offset, n);
		return 0;
	}
	while (done < n) {
		r = pread(e->fd, (char *)dst + done, n - done,
		          (off_t)(offset + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -EIO;
		done += (size_t)r;
	}
	return 0;
}

int
elf_copy(const struct elf_image *e, uint64_t offset, uint64_t n, size_t max,
         void **out)
{
	CLEANUP_FREE char *p = NULL;
	int r;

	if (n > max)
		return -E2BIG;
	if (offset > e->size || n > e->size - offset)
		return -EIO;
	p = malloc(n + 1);
	if (!p)
		return -ENOMEM;
	r = elf_read(e, offset, p, n);
	if (r)
		return r;
	p[n] = '\0';
	*out = TAKE(p);
	return 0;
}

static int
check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
		return -ENOEXEC;
	if (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	return 0;
}

static int
read_segments(struct elf_image *e, const Elf64_Ehdr *h)
{
	Elf64_Phdr p[ELF_MAX_SEGMENTS];
	uint32_t n = h->e_phnum;
	int r;

	if (n > ELF_MAX_SEGMENTS)
		return -ENOEXEC;
	r = elf_read(e, h->e_phoff, p, n * sizeof(*p));
	if (r)
		return n ? r : 0;
	for (uint32_t i = 0; i < n; i++)
		e->segments[i] = (struct elf_segment){
			.type = p[i].p_type,
			.flags = p[i].p_flags,
			.offset = p[i].p_offset,
			.vaddr = p[i].p_vaddr,
			.filesz = p[i].p_filesz,
			.memsz = p[i].p_memsz,
		};
	e->nsegments = n;
	return 0;
}

/* Counts that don't fit the header are in section 0; Source: elf(5). */
static int
section_counts(const struct elf_image *e, const Elf64_Ehdr *h, uint64_t *n,
               uint32_t *names)
{
	Elf64_Shdr zero;
	int r = elf_read(e, h->e_shoff, &zero, sizeof(zero));

	if (r)
		return r;
	*n = h->e_shnum ? h->e_shnum : zero.sh_size;
	*names = h->e_shstrndx == SHN_XINDEX ? zero.sh_link : h->e_shstrndx;
	return *n > ELF_MAX_SECTIONS ? -ENOEXEC : 0;
}

static int
read_section_names(struct elf_image *e, uint32_t index)
{
	const struct elf_section *s = &e->sections[index];
	void *names;
	int r;

	if (index >= e->nsections || s->type != SHT_STRTAB)
		return -ENOEXEC;
	r = elf_copy(e, s->offset, s->size, ELF_MAX_STRTAB, &names);
	if (r)
		return r;
	e->strtab = names;
	e->strtab_size = (uint32_t)s->size;
	return 0;
}

static int
read_sections(struct elf_image *e, const Elf64_Ehdr *h)
{
	CLEANUP_FREE void *bytes = NULL;
	const Elf64_Shdr *s;
	uint64_t n = 0;
	uint32_t names = 0;
	int r = section_counts(e, h, &n, &names);

	if (r)
		return r;
	r = elf_copy(e, h->e_shoff, n * sizeof(*s),
	             ELF_MAX_SECTIONS * sizeof(*s), &bytes);
	if (r)
		return r;
	e->sections = calloc(n + 1, sizeof(*e->sections));
	e->section_names = calloc(n + 1, sizeof(*e->section_names));
	if (!e->sections || !e->section_names)
		return -ENOMEM;
	s = bytes;
	for (uint32_t i = 0; i < n; i++) {
		e->section_names[i] = s[i].sh_name;
		e->sections[i] = (struct elf_section){
			.type = s[i].sh_type,
			.link = s[i].sh_link,
			.info = s[i].sh_info,
			.flags = s[i].sh_flags,
			.vaddr = s[i].sh_addr,
			.offset = s[i].sh_offset,
			.size = s[i].sh_size,
			.entsize = s[i].sh_entsize,
		};
	}
	e->nsections = (uint32_t)n;
	return read_section_names(e, names);
}

static void
forget_sections(struct elf_image *e)
{
	free(e->sections);
	free(e->section_names);
	free(e->strtab);
	e->sections = NULL;
	e->section_names = NULL;
	e->strtab = NULL;
	e->nsections = e->strtab_size = 0;
}

static int
read_headers(struct elf_image *e)
{
	Elf64_Ehdr h;
	int r = elf_read(e, 0, &h, sizeof(h));

	if (!r)
		r = check_header(&h);
	if (r)
		return -ENOEXEC;
	e->machine = h.e_machine;
	e->type = h.e_type;
	e->entry = h.e_entry;
	r = read_segments(e, &h);
	if (r)
		return r;
	e->is_program = elf_read_is_program(e);
	/* Section headers are a convenience: segments are what is loaded. */
	if (h.e_shoff && h.e_shentsize == sizeof(Elf64_Shdr)) {
		r = read_sections(e, &h);
		if (r == -ENOMEM)
			return r;
		if (r)
			forget_sections(e);
	}
	return elf_read_build_id(e);
}

int
elf_open_fd(int fd, struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = calloc(1, sizeof(*e));
	struct stat st;
	int r;

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	e->size = (uint64_t)st.st_size;
	e->fd = fd;
	r = read_headers(e);
	if (r) {
		e->fd = -1;
		return r;
	}
	*out = TAKE(e);
	return 0;
}

int
elf_open_memory(const void *p, size_t n, struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	e->size = n;
	e->mem = malloc(n + 1);
	if (!e->mem)
		return -ENOMEM;
	memcpy(e->mem, p, n);
	r = read_headers(e);
	if (r)
		return r;
	*out = TAKE(e);
	return 0;
}

void
elf_free(struct elf_image *e)
{
	if (!e)
		return;
	forget_sections(e);
	if (e->fd >= 0)
		close(e->fd);
	free(e->mem);
	free(e);
}
