#include "unwind_index.h"

#include "base/rows.h"
#include "capture/elf/elf_packed.h"
#include "unwind.h"

#include <elf.h>
#include <errno.h>

/* Encodings that every linker writes; Source: LSB 5, 10.5.1 and 10.6.2. The
 * count is a DW_EH_PE_udata4, rows are DW_EH_PE_datarel | DW_EH_PE_sdata4. */
#define COUNT_UDATA4  0x03
#define TABLE_DATAREL 0x3b
#define FRAME_PCREL   0x1b

struct header { /* of .eh_frame_hdr */
	uint8_t version, frame_enc, count_enc, table_enc;
	int32_t frame; /* relative to this field */
	uint32_t count;
};
_Static_assert(sizeof(struct header) == 12, "as on disk");

void
unwind_index_done(struct unwind_index *x)
{
	free(x->section.bytes.bytes);
	free(x->table);
	*x = (struct unwind_index){0};
}

/* --- .eh_frame ------------------------------------------------------------ */

static int
load(const struct elf_image *e, uint64_t vaddr, uint64_t n,
     struct cfi_bytes *out)
{
	uint64_t at, left;
	void *bytes;
	int r;

	if (!elf_offset_of(e, vaddr, &at, &left))
		return -ENODATA;
	if (n > left)
		n = left;
	r = elf_copy(e, at, n, UNWIND_MAX_TABLE, &bytes);
	if (r)
		return r;
	*out = (struct cfi_bytes){vaddr, (size_t)n, bytes};
	return 0;
}

/* Loads .eh_frame; without section headers, up to the end of its segment. */
static int
load_frames(const struct elf_image *e, uint64_t vaddr, struct unwind_index *x)
{
	const struct elf_section *s = elf_section(e, ".eh_frame");
	uint64_t n = s && s->vaddr == vaddr ? s->size : UINT64_MAX;

	return load(e, vaddr, n, &x->section.bytes);
}

/* Loads the table that the linker made. */
static int
load_table(const struct elf_image *e, struct unwind_index *x)
{
	const struct elf_segment *s = elf_segment(e, PT_GNU_EH_FRAME, 0);
	struct cfi_bytes table;
	struct header h;
	size_t room;
	int r;

	if (!s)
		return -ENODATA;
	r = load(e, s->vaddr, s->filesz, &table);
	if (r)
		return r;
	x->table = table.bytes;
	if (table.size < sizeof(h))
		return -ENODATA;
	memcpy(&h, table.bytes, sizeof(h));
	if (h.version != 1 || h.frame_enc != FRAME_PCREL ||
	    h.count_enc != COUNT_UDATA4 || h.table_enc != TABLE_DATAREL)
		return -ENODATA;
	room = (table.size - sizeof(h)) / sizeof(*x->rows);
	x->nrows = h.count < room ? h.count : (uint32_t)room;
	x->rows = (const void *)(table.bytes + sizeof(h));
	x->base = s->vaddr;
	if (!x->nrows)
		return -ENODATA;
	r = load_frames(e, s->vaddr + 4 + (uint64_t)(int64_t)h.frame, x);
	x->origin = (size_t)(x->base - x->section.bytes.vaddr);
	return r;
}

static int
make_table(struct unwind_index *x)
{
	struct unwind_row *rows;
	int r = unwind_rows(&x->section, x->origin, x->base, &rows, &x->nrows);

	if (r)
		return r;
	x->rows = rows;
	x->table = (uint8_t *)rows;
	return 0;
}

static int
index_frames(const struct elf_image *e, struct unwind_index *x)
{
	const struct elf_section *s = elf_section(e, ".eh_frame");
	int r = s ? load_frames(e, s->vaddr, x) : -ENODATA;

	if (r)
		return r;
	x->base = s->vaddr;
	return make_table(x);
}

int
unwind_index_eh(const struct elf_image *e, struct unwind_index *out)
{
	int r = load_table(e, out);

	if (r && r != -ENOMEM) {
		unwind_index_done(out);
		r = index_frames(e, out);
	}
	if (r)
		unwind_index_done(out);
	return r;
}

/* --- .debug_frame --------------------------------------------------------- */

static int
load_debug(const struct elf_image *e, struct cfi_bytes *out)
{
	CLEANUP_FREE uint8_t *to = NULL;
	struct elf_packed p;
	int r = elf_packed_find(e, ".debug_frame", &p);

	if (r)
		return r == -ENOENT ? -ENODATA : r;
	if (p.size > UNWIND_MAX_TABLE)
		return -E2BIG;
	to = malloc(p.size + 1);
	r = to ? elf_packed_read(e, &p, UNWIND_MAX_TABLE, to) : -ENOMEM;
	if (!r)
		*out = (struct cfi_bytes){0, p.size, TAKE(to)};
	return r;
}

int
unwind_index_debug(const struct elf_image *e, struct unwind_index *out)
{
	const struct elf_segment *first = elf_segment(e, PT_LOAD, 0);
	int r = load_debug(e, &out->section.bytes);

	if (r)
		return r;
	out->section.debug = true;
	out->base = first ? first->vaddr : 0;
	r = make_table(out);
	if (r)
		unwind_index_done(out);
	return r;
}

/* --- finding -------------------------------------------------------------- */

struct unwind_row
unwind_index_row(const struct unwind_index *x, uint32_t i)
{
	struct unwind_row row;

	memcpy(&row, &x->rows[i], sizeof(row)); /* unaligned */
	return row;
}

bool
unwind_index_find(const struct unwind_index *x, uint64_t vaddr, uint32_t *row)
{
	int64_t want = (int64_t)(vaddr - x->base);
	uint32_t lo = ROWS_WHILE(x->nrows, i,
	                         unwind_index_row(x, i).function <= want);

	if (!lo)
		return false;
	*row = lo - 1;
	return true;
}

int
unwind_index_entry(const struct unwind_index *x, uint32_t row,
                   struct cfi_entry *out)
{
	struct unwind_row r = unwind_index_row(x, row);
	int e = cfi_entry_read(&x->section,
	                       x->origin + (size_t)(int64_t)r.entry, out);

	if (!e && out->start != x->base + (uint64_t)(int64_t)r.function)
		e = -EBADMSG;
	return e;
}
