#include "symtab.h"

#include <errno.h>
#include <string.h>

#define MAX_OPEN_END 4096 /* bytes of a last function without a size */

struct head {
	uint32_t n, names_size;
};

/* Hand-written assembly often has no sizes: such a function reaches to the
 * next one, the last of all by a page at most. */
static uint32_t
size_of(const struct symtab_row *rows, size_t n, size_t i)
{
	uint64_t size = MAX_OPEN_END;

	if (rows[i].end > rows[i].start)
		size = rows[i].end - rows[i].start;
	else if (i + 1 < n)
		size = rows[i + 1].start - rows[i].start;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* A version is no part of the name: "f@@V" is f. */
static size_t
name_length(const char *name)
{
	return name[0] ? 1 + strcspn(name + 1, "@") : 0;
}

int
symtab_write(const struct symtab_row *rows, size_t n, struct buf *out)
{
	struct head head = {.n = (uint32_t)n};
	size_t names = 0;

	if (n > SYMTAB_MAX_ROWS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		names += name_length(rows[i].name) + 1;
	if (names > SYMTAB_MAX_NAMES)
		return -E2BIG;
	head.names_size = (uint32_t)names;
	buf_reserve(out, sizeof(head) + n * sizeof(struct symbol) + names);
	buf_add(out, &head, sizeof(head));
	names = 0;
	for (size_t i = 0; i < n; i++) {
		struct symbol row = {rows[i].start, size_of(rows, n, i),
		                     (uint32_t)names};

		buf_add(out, &row, sizeof(row));
		names += name_length(rows[i].name) + 1;
	}
	for (size_t i = 0; i < n; i++) {
		buf_add(out, rows[i].name, name_length(rows[i].name));
		buf_putc(out, '\0');
	}
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

const char *
symtab_lookup(const struct symtab *t, uint64_t vaddr)
{
	uint32_t lo = 0, hi = t->n, mid;
	const struct symbol *s;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->rows[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return NULL;
	s = &t->rows[lo - 1];
	if (vaddr - s->start >= s->size || s->name >= t->names_size ||
	    !t->names[s->name])
		return NULL;
	return t->names + s->name;
}
