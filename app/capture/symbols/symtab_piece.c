#include "symtab.h"

#include <errno.h>
#include <string.h>

#define MAX_OPEN_END 4096 /* bytes of a last function without a size */

struct head {
	uint32_t n, names_size;
};

static bool
is_open(const struct symtab_row *row)
{
	return row->end <= row->start;
}

/* Hand-written assembly often has no sizes: such a function reaches to the
 * next one or the end of its section, at most. */
static uint32_t
size_of(const struct symtab_row *rows, size_t n, size_t i)
{
	uint64_t end = rows[i].limit ?: rows[i].start + MAX_OPEN_END, size;

	if (i + 1 < n && (rows[i + 1].start < end || !rows[i].limit))
		end = rows[i + 1].start;
	size = (is_open(&rows[i]) ? end : rows[i].end) - rows[i].start;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* A version is no part of the name: "f@@V" is f. */
static size_t
name_length(const struct symtab_row *row)
{
	return row->name[0] ? 1 + strcspn(row->name + 1, "@") : 0;
}

static const char slot_suffix[] = "@plt";

/* With what is behind it, the NUL as well. */
static size_t
name_size(const struct symtab_row *row)
{
	return name_length(row) + (row->slot ? sizeof(slot_suffix) : 1);
}

static void
write_name(const struct symtab_row *row, struct buf *out)
{
	buf_add(out, row->name, name_length(row));
	if (row->slot)
		buf_add(out, slot_suffix, sizeof(slot_suffix) - 1);
	buf_putc(out, '\0');
}

int
symtab_write(const struct symtab_row *rows, size_t n, struct buf *out)
{
	struct head head = {.n = (uint32_t)n};
	size_t names = 0;

	if (n > SYMTAB_MAX_ROWS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		names += name_size(&rows[i]);
	if (names > SYMTAB_MAX_NAMES)
		return -E2BIG;
	head.names_size = (uint32_t)names;
	buf_reserve(out, sizeof(head) + n * sizeof(struct symbol) + names);
	buf_add(out, &head, sizeof(head));
	names = 0;
	for (size_t i = 0; i < n; i++) {
		struct symbol row = {
			.start = rows[i].start,
			.size = size_of(rows, n, i),
			.name = (uint32_t)names,
			.open = is_open(&rows[i]),
		};

		buf_add(out, &row, sizeof(row));
		names += name_size(&rows[i]);
	}
	for (size_t i = 0; i < n; i++)
		write_name(&rows[i], out);
	return buf_err(out);
}

int
symtab_open(const struct symbols_piece *piece, struct symtab *out)
{
	const struct head *head = piece->p;
	size_t left = piece->n, rows;
	const char *names;

	if (left < sizeof(*head))
		return -EBADMSG;
	left -= sizeof(*head);
	rows = (size_t)head->n * sizeof(struct symbol);
	if (left < rows || left - rows != head->names_size)
		return -EBADMSG;
	names = (const char *)piece->p + sizeof(*head) + rows;
	if (head->names_size && names[head->names_size - 1])
		return -EBADMSG;
	*out = (struct symtab){(const struct symbol *)(head + 1), head->n,
	                       names, head->names_size};
	return 0;
}

uint32_t
symtab_above(const struct symtab *t, uint64_t vaddr)
{
	uint32_t lo = 0, hi = t->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->rows[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const char *
symtab_lookup(const struct symtab *t, uint64_t vaddr)
{
	uint32_t above = symtab_above(t, vaddr);
	const struct symbol *s;

	if (!above)
		return NULL;
	s = &t->rows[above - 1];
	if (vaddr - s->start >= s->size || s->name >= t->names_size ||
	    !t->names[s->name])
		return NULL;
	return t->names + s->name;
}
