#include "unwind_table.h"

#include "unwind_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Encodings that every linker writes; Source: LSB 5, 10.5.1 and 10.6.2.
 * DW_EH_PE_udata4 counts, DW_EH_PE_datarel | DW_EH_PE_sdata4 rows. */
#define COUNT_UDATA4  0x03
#define TABLE_DATAREL 0x3b
#define PTR_PCREL     0x1b

struct header { /* of .eh_frame_hdr */
	uint8_t version, frame_enc, count_enc, table_enc;
	int32_t frame; /* relative to this field */
	uint32_t count;
};
_Static_assert(sizeof(struct header) == 12, "as on disk");

/* Copies n bytes, and the few before them that an aligned read touches. */
static int
load_chunk(const struct elf_image *e, uint64_t vaddr, uint64_t n,
           struct unwind_chunk *out)
{
	uint64_t at, left, before = vaddr & 7;
	void *bytes;
	int r;

	if (!elf_offset_of(e, vaddr, &at, &left))
		return -ENODATA;
	if (n > left)
		n = left;
	if (before > at)
		before = 0;
	r = elf_copy(e, at - before, n + before, UNWIND_MAX_TABLE, &bytes);
	if (r)
		return r;
	*out = (struct unwind_chunk){vaddr - before, (size_t)(n + before),
	                             bytes};
	return 0;
}

/* Without section headers .eh_frame may reach to the end of its segment. */
static int
load_frames(struct unwind_table *t, uint64_t vaddr)
{
	const struct elf_section *s = elf_section(t->elf, ".eh_frame");
	uint64_t n = s && s->vaddr == vaddr ? s->size : UINT64_MAX;

	return load_chunk(t->elf, vaddr, n, &t->frames);
}

/* The table that the linker made. */
static int
load_index(struct unwind_table *t)
{
	const struct elf_segment *s = elf_segment(t->elf, PT_GNU_EH_FRAME, 0);
	struct header h;
	size_t skip, room;
	int r;

	if (!s)
		return -ENODATA;
	r = load_chunk(t->elf, s->vaddr, s->filesz, &t->index);
	if (r)
		return r;
	skip = (size_t)(s->vaddr - t->index.vaddr);
	if (t->index.size < skip + sizeof(h))
		return -ENODATA;
	memcpy(&h, t->index.bytes + skip, sizeof(h));
	if (h.version != 1 || h.frame_enc != PTR_PCREL ||
	    h.count_enc != COUNT_UDATA4 || h.table_enc != TABLE_DATAREL)
		return -ENODATA;
	room = (t->index.size - skip - sizeof(h)) / sizeof(*t->rows);
	t->nrows = h.count < room ? h.count : (uint32_t)room;
	t->base = s->vaddr;
	t->rows_vaddr = s->vaddr + sizeof(h);
	t->rows = (const void *)(t->index.bytes + skip + sizeof(h));
	if (!t->nrows)
		return -ENODATA;
	return load_frames(t, s->vaddr + 4 + (uint64_t)(int64_t)h.frame);
}

/* A vaddr past everything that is loaded. */
static uint64_t
image_end(const struct elf_image *e)
{
	const struct elf_segment *s;
	uint64_t end = 0;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		if (s->vaddr + s->memsz > end)
			end = s->vaddr + s->memsz;
	return (end + 7) & ~UINT64_C(7);
}

/* Our own table, as if it lay behind the image. */
static int
make_index(struct unwind_table *t)
{
	const struct elf_section *s = elf_section(t->elf, ".eh_frame");
	struct unwind_row *rows;
	int r;

	if (!s)
		return -ENODATA;
	r = load_frames(t, s->vaddr);
	if (!r)
		r = unwind_rows(&t->frames, s->vaddr, &rows, &t->nrows);
	if (r)
		return r;
	t->base = s->vaddr;
	t->rows = rows;
	t->rows_vaddr = image_end(t->elf);
	t->index = (struct unwind_chunk){
		t->rows_vaddr, t->nrows * sizeof(*rows), (uint8_t *)rows};
	return 0;
}

static void
drop_chunk(struct unwind_chunk *c)
{
	free(c->bytes);
	*c = (struct unwind_chunk){0};
}

int
unwind_table_new(const struct elf_image *elf, struct unwind_table **out)
{
	CLEANUP_UNWIND_TABLE struct unwind_table *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->elf = elf;
	r = load_index(t);
	if (r && r != -ENOMEM) {
		drop_chunk(&t->index);
		drop_chunk(&t->frames);
		r = make_index(t);
	}
	if (r)
		return r;
	*out = TAKE(t);
	return 0;
}

void
unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	drop_chunk(&t->index);
	drop_chunk(&t->frames);
	free(t);
}

static bool
chunk_word(const struct unwind_chunk *c, uint64_t vaddr, uint64_t *out)
{
	uint64_t at = vaddr - c->vaddr;

	if (vaddr < c->vaddr || at >= c->size)
		return false;
	*out = 0;
	memcpy(out, c->bytes + at, c->size - at < 8 ? c->size - at : 8);
	return true;
}

int
unwind_table_word(const struct unwind_table *t, uint64_t vaddr, uint64_t *out)
{
	uint64_t at, left, word = 0;

	if (chunk_word(&t->frames, vaddr, out) ||
	    chunk_word(&t->index, vaddr, out))
		return 0;
	/* Personality pointers are in .data.rel.ro. */
	if (!elf_offset_of(t->elf, vaddr, &at, &left) ||
	    elf_read(t->elf, at, &word, left < 8 ? (size_t)left : 8))
		return -EIO;
	*out = word;
	return 0;
}

bool
unwind_table_row(const struct unwind_table *t, uint64_t vaddr, uint32_t *row)
{
	int64_t want = (int64_t)(vaddr - t->base);
	uint32_t lo = 0, hi = t->nrows, mid;
	struct unwind_row r;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		memcpy(&r, &t->rows[mid], sizeof(r));
		if (r.function <= want)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	*row = lo - 1;
	return true;
}
