/*
 * Copies an ELF program and damages what only debuggers and profilers read, so
 * that the copy still runs: symbols, unwind tables, DWARF, notes, and the
 * headers that locate them.
 *
 * 	spoil SEED FROM TO
 *
 * Equal seeds give equal damage. Exit status: 0 if the copy was written, else
 * 1.
 */
#include "lib/random.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct program {
	unsigned char *bytes;
	size_t size;
	uint64_t seed;
};

static uint64_t
below(struct program *p, uint64_t n)
{
	return random_next(&p->seed) % n;
}

/* Returns a limit value, at which code for lengths, offsets and counts goes
 * wrong. */
static uint64_t
edge(struct program *p)
{
	static const uint64_t edges[] = {
		0,         1,          0x7f,      0x80,       0xff,
		INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 7,
	};

	return edges[below(p, sizeof(edges) / sizeof(*edges))];
}

/* Damages one place in n bytes at an offset, which must lie in the file. */
static void
spoil_one(struct program *p, uint64_t at, uint64_t n)
{
	static const uint64_t widths[] = {1, 2, 4, 8};
	uint64_t width = widths[below(p, 4)], value = edge(p), place;

	if (width > n)
		width = n;
	place = at + below(p, n - width + 1);
	switch (below(p, 3)) {
	case 0:
		p->bytes[place] ^= (unsigned char)(1u << below(p, 8));
		break;
	case 1:
		p->bytes[place] = (unsigned char)below(p, 256);
		break;
	default:
		memcpy(p->bytes + place, &value, width);
	}
}

static void
spoil(struct program *p, uint64_t at, uint64_t n, uint64_t times)
{
	if (at >= p->size || n > p->size - at)
		return;
	for (uint64_t i = 0; n && i < times; i++)
		spoil_one(p, at, n);
}

/* True if the program runs without this section. */
static bool
is_for_others(const char *name, const Elf64_Shdr *s)
{
	static const char *const kinds[] = {
		".eh_frame",          ".debug_",       ".symtab", ".strtab",
		".note.gnu.build-id", ".gnu_debuglink"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return s->sh_type != SHT_NOBITS;
	return false;
}

/* Damages a few bytes of each section in some programs, and many bytes of one
 * section in others. */
static void
spoil_sections(struct program *p, const Elf64_Ehdr *head,
               const Elf64_Shdr *sections)
{
	const char *names = (const char *)p->bytes +
	                    sections[head->e_shstrndx].sh_offset;
	uint64_t only = below(p, 2) ? head->e_shnum : below(p, head->e_shnum);

	for (uint64_t i = 0; i < head->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];

		if (only < head->e_shnum && only != i)
			continue;
		if (is_for_others(names + s->sh_name, s))
			spoil(p, s->sh_offset, s->sh_size,
			      only == i ? 1 + s->sh_size / 4
			                : 1 + s->sh_size / 64);
	}
}

/* The loader reads neither section headers nor the location of unwind
 * tables. */
static void
spoil_headers(struct program *p, const Elf64_Ehdr *head)
{
	if (!below(p, 3))
		spoil(p, head->e_shoff,
		      (uint64_t)head->e_shnum * sizeof(Elf64_Shdr),
		      1 + below(p, 16));
	if (!below(p, 4))
		spoil(p, offsetof(Elf64_Ehdr, e_shoff), 8, 1);
	if (!below(p, 4))
		spoil(p, offsetof(Elf64_Ehdr, e_shentsize), 6, 1);
	for (uint64_t i = 0; i < head->e_phnum; i++) {
		uint64_t at = head->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr row;

		memcpy(&row, p->bytes + at, sizeof(row));
		if (row.p_type == PT_GNU_EH_FRAME && !below(p, 3))
			spoil(p, at + sizeof(row.p_type),
			      sizeof(row) - sizeof(row.p_type), 1);
	}
}

static int
load(struct program *p, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	p->size = (size_t)st.st_size;
	map = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	p->bytes = map;
	return map == MAP_FAILED || p->size < sizeof(Elf64_Ehdr) ? -1 : 0;
}

static int
store(const struct program *p, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t n = fd < 0 ? -1 : write(fd, p->bytes, p->size);

	return n != (ssize_t)p->size || close(fd) ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct program p;
	Elf64_Shdr *sections;
	Elf64_Ehdr head;

	if (argc != 4)
		return 1;
	p.seed = strtoull(argv[1], NULL, 10);
	if (load(&p, argv[2])) {
		perror(argv[2]);
		return 1;
	}
	memcpy(&head, p.bytes, sizeof(head));
	sections = malloc(head.e_shnum * sizeof(*sections));
	if (!sections)
		return 1;
	memcpy(sections, p.bytes + head.e_shoff,
	       head.e_shnum * sizeof(*sections));
	spoil_sections(&p, &head, sections);
	spoil_headers(&p, &head);
	free(sections);
	if (store(&p, argv[3])) {
		perror(argv[3]);
		return 1;
	}
	return 0;
}
