/*
 * Searches an image's data for words.
 */
#include "gobin_private.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define CHUNK     ((size_t)1 << 20) /* bytes read at a time */
#define MAX_RELAS (1u << 24)

static bool
scan_chunk(const uint8_t *p, size_t n, uint64_t vaddr, uint64_t what,
           uint64_t mask, gobin_seen *seen, void *arg)
{
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if ((word & mask) == what && !seen(arg, vaddr + i))
			return false;
	}
	return true;
}

/* Scans a segment chunk by chunk; false: seen() ended the search. */
static bool
scan_segment(const struct elf_image *elf, const struct elf_segment *s,
             uint8_t *chunk, uint64_t what, uint64_t mask, uint64_t max,
             gobin_seen *seen, void *arg)
{
	uint64_t skip = -s->vaddr & 7; /* up to the first aligned word */
	uint64_t n = s->filesz < max ? s->filesz : max;

	while (skip < n) {
		size_t len = n - skip < CHUNK ? (size_t)(n - skip) : CHUNK;

		if (elf_read(elf, s->offset + skip, chunk, len))
			return true;
		if (!scan_chunk(chunk, len, s->vaddr + skip, what, mask, seen,
		                arg))
			return false;
		skip += len;
	}
	return true;
}

int
gobin_scan(const struct elf_image *elf, uint32_t flags, uint64_t what,
           uint64_t mask, uint64_t max, gobin_seen *seen, void *arg)
{
	/* elf_read() reads no more than the image has. */
	size_t room = elf->size < CHUNK ? (size_t)elf->size : CHUNK;
	CLEANUP_FREE uint8_t *chunk = malloc(room + 1);
	const struct elf_segment *s;

	if (!chunk)
		return -ENOMEM;
	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++)
		if ((s->flags & flags) == flags &&
		    !scan_segment(elf, s, chunk, what, mask, max, seen, arg))
			break;
	return 0;
}

/* --- relocations ---------------------------------------------------------- */

typedef bool relative_seen(void *arg, const Elf64_Rela *r);

static void
each_relative(const struct elf_image *elf, const Elf64_Rela *r, size_t n,
              relative_seen *seen, void *arg)
{
	uint32_t type = elf->machine == EM_X86_64 ? R_X86_64_RELATIVE
	                                          : R_AARCH64_RELATIVE;

	for (size_t i = 0; i < n; i++)
		if (ELF64_R_TYPE(r[i].r_info) == type && !seen(arg, &r[i]))
			return;
}

/* Finds the relocations. A program that is not position-independent has
 * none. */
static int
relatives(const struct elf_image *elf, relative_seen *seen, void *arg)
{
	CLEANUP_FREE void *rows = NULL;
	uint64_t at, size, offset, left;
	struct elf_dynamic d;
	int rc;

	elf_dynamic(elf, &d);
	at = elf_dynamic_value(&d, DT_RELA);
	size = elf_dynamic_value(&d, DT_RELASZ);
	if (!at || !size || !elf_offset_of(elf, at, &offset, &left))
		return 0;
	rc = elf_copy(elf, offset, size < left ? size : left,
	              MAX_RELAS * sizeof(Elf64_Rela), &rows);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	each_relative(elf, rows,
	              (size_t)(size < left ? size : left) / sizeof(Elf64_Rela),
	              seen, arg);
	return 0;
}

struct patch {
	uint64_t vaddr, *words;
	size_t n;
};

static bool
patch_word(void *arg, const Elf64_Rela *r)
{
	struct patch *p = arg;
	uint64_t by = r->r_offset - p->vaddr;

	if (by % sizeof(uint64_t) == 0 && by / sizeof(uint64_t) < p->n)
		p->words[by / sizeof(uint64_t)] = (uint64_t)r->r_addend;
	return true;
}

int
gobin_words(const struct elf_image *elf, uint64_t vaddr, uint64_t *out,
            size_t n)
{
	struct patch p = {vaddr, out, n};
	uint64_t offset, left;

	if (!elf_offset_of(elf, vaddr, &offset, &left) ||
	    left < n * sizeof(*out))
		return -EIO;
	if (elf_read(elf, offset, out, n * sizeof(*out)))
		return -EIO;
	return relatives(elf, patch_word, &p);
}

struct wanted {
	uint64_t what;
	gobin_seen *seen;
	void *arg;
};

static bool
match_relative(void *arg, const Elf64_Rela *r)
{
	const struct wanted *w = arg;

	return (uint64_t)r->r_addend != w->what || w->seen(w->arg, r->r_offset);
}

int
gobin_pointers(const struct elf_image *elf, uint64_t what, gobin_seen *seen,
               void *arg)
{
	struct wanted w = {what, seen, arg};

	return relatives(elf, match_relative, &w);
}
