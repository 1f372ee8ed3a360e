#include "symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_DYNAMIC ((size_t)64 << 10)
#define CHAIN_STEP  1024 /* hash words read at once */

struct dynamic {
	uint64_t symtab, strtab, strsz, hash, gnu_hash; /* vaddr, bytes */
};

static int
read_dynamic(const struct elf_image *e, struct dynamic *out)
{
	const struct elf_segment *p = elf_segment(e, PT_DYNAMIC, 0);
	CLEANUP_FREE void *bytes = NULL;
	const Elf64_Dyn *d;

	if (!p || elf_copy(e, p->offset, p->filesz, MAX_DYNAMIC, &bytes))
		return -ENOENT;
	*out = (struct dynamic){0};
	d = bytes;
	for (size_t i = 0; i < p->filesz / sizeof(*d) && d[i].d_tag; i++)
		switch (d[i].d_tag) {
		case DT_SYMTAB:
			out->symtab = d[i].d_un.d_ptr;
			break;
		case DT_STRTAB:
			out->strtab = d[i].d_un.d_ptr;
			break;
		case DT_STRSZ:
			out->strsz = d[i].d_un.d_val;
			break;
		case DT_HASH:
			out->hash = d[i].d_un.d_ptr;
			break;
		case DT_GNU_HASH:
			out->gnu_hash = d[i].d_un.d_ptr;
			break;
		}
	return out->symtab && out->strtab ? 0 : -ENOENT;
}

static int
read_words(const struct elf_image *e, uint64_t offset, uint32_t *out, size_t n)
{
	return elf_read(e, offset, out, n * sizeof(*out));
}

/* The chain of the last bucket ends at the last symbol. */
static int
chain_end(const struct elf_image *e, uint64_t chains, uint32_t first,
          uint32_t last, uint64_t *count)
{
	uint32_t words[CHAIN_STEP], n;

	for (; last < SYMTAB_MAX_ROWS; last += n) {
		uint64_t at = chains + (uint64_t)(last - first) * 4;

		n = CHAIN_STEP;
		while (n && read_words(e, at, words, n))
			n /= 2;
		if (!n)
			return -ENOENT;
		for (uint32_t i = 0; i < n; i++)
			if (words[i] & 1) {
				*count = (uint64_t)last + i + 1;
				return 0;
			}
	}
	return -ENOENT;
}

static int
count_gnu(const struct elf_image *e, uint64_t vaddr, uint64_t *count)
{
	struct {
		uint32_t nbuckets, first, bloom, shift;
	} h;
	CLEANUP_FREE void *bytes = NULL;
	const uint32_t *buckets;
	uint64_t at, left, words;
	uint32_t last = 0;

	if (!elf_offset_of(e, vaddr, &at, &left) ||
	    elf_read(e, at, &h, sizeof(h)))
		return -ENOENT;
	words = at + sizeof(h) + (uint64_t)h.bloom * 8;
	if (elf_copy(e, words, (uint64_t)h.nbuckets * 4,
	             (size_t)SYMTAB_MAX_ROWS * 4, &bytes))
		return -ENOENT;
	buckets = bytes;
	for (uint32_t i = 0; i < h.nbuckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < h.first || !last)
		return -ENOENT;
	return chain_end(e, words + (uint64_t)h.nbuckets * 4, h.first, last,
	                 count);
}

static int
count_sysv(const struct elf_image *e, uint64_t vaddr, uint64_t *count)
{
	uint32_t h[2]; /* nbucket, nchain */
	uint64_t at, left;

	if (!elf_offset_of(e, vaddr, &at, &left) || read_words(e, at, h, 2))
		return -ENOENT;
	*count = h[1];
	return 0;
}

int
symtab_dynamic(const struct elf_image *e, struct symtab_place *out)
{
	struct symtab_place at;
	uint64_t left, count;
	struct dynamic d;

	if (read_dynamic(e, &d))
		return -ENOENT;
	if ((!d.hash || count_sysv(e, d.hash, &count)) &&
	    (!d.gnu_hash || count_gnu(e, d.gnu_hash, &count)))
		return -ENOENT;
	if (!elf_offset_of(e, d.symtab, &at.symbols, &left) ||
	    !elf_offset_of(e, d.strtab, &at.names, &left))
		return -ENOENT;
	at.size = count * sizeof(Elf64_Sym);
	at.names_size = d.strsz < left ? d.strsz : left;
	*out = at;
	return 0;
}
