#include "unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AUGMENTATION 16

/* Pointer encodings, DW_EH_PE_*. */
enum {
	FORM = 0x0f,
	ABSPTR = 0x00,
	UDATA4 = 0x03,
	UDATA8 = 0x04,
	SDATA4 = 0x0b,
	SDATA8 = 0x0c,
	PCREL = 0x10,
	INDIRECT = 0x80,
};

/* A place in the section; past its end everything reads as zero and bad
 * stays set. */
struct cursor {
	const struct unwind_chunk *in;
	size_t at, end;
	bool bad;
};

struct list {
	struct unwind_row *rows;
	uint32_t n, cap;
	uint64_t base;
};

static uint64_t
take(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if (c->bad || n > c->end - c->at) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->in->bytes + c->at, n);
	c->at += n;
	return v;
}

static uint64_t
take_leb(struct cursor *c)
{
	uint64_t v = 0, byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		byte = take(c, 1);
		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static uint64_t
take_pointer(struct cursor *c, uint8_t encoding)
{
	uint64_t here = c->in->vaddr + c->at, v = 0;

	switch (encoding & FORM) {
	case UDATA4:
		v = take(c, 4);
		break;
	case SDATA4:
		v = (uint64_t)(int64_t)(int32_t)take(c, 4);
		break;
	case ABSPTR:
	case UDATA8:
	case SDATA8:
		v = take(c, 8);
		break;
	default:
		c->bad = true;
	}
	switch (encoding & ~FORM) {
	case 0:
		return v;
	case PCREL:
		return here + v;
	default:
		c->bad = true;
		return 0;
	}
}

/* The next entry's contents; false at the end. 64-bit lengths are for
 * sections above 4 GiB. */
static bool
next_entry(struct cursor *section, struct cursor *entry)
{
	uint64_t n = take(section, 4);

	if (section->bad || !n || n > section->end - section->at)
		return false;
	*entry = *section;
	entry->end = section->at + (size_t)n;
	section->at = entry->end;
	return true;
}

/* How the functions of a CIE's FDEs are encoded. */
static bool
cie_encoding(const struct cursor *section, size_t at, uint8_t *out)
{
	struct cursor all = {.in = section->in, .at = at, .end = section->end};
	struct cursor c;
	char augmentation[MAX_AUGMENTATION + 1] = "";
	uint8_t version, e;

	if (at > all.end || !next_entry(&all, &c) || take(&c, 4))
		return false;
	version = (uint8_t)take(&c, 1);
	for (size_t i = 0; (augmentation[i] = (char)take(&c, 1)); i++)
		if (i == MAX_AUGMENTATION - 1)
			return false;
	take_leb(&c); /* code alignment */
	take_leb(&c); /* data alignment */
	if (version == 1)
		take(&c, 1);
	else
		take_leb(&c); /* return address register */
	*out = ABSPTR;
	if (c.bad || *augmentation != 'z')
		return !c.bad && !*augmentation;
	take_leb(&c); /* bytes of augmentation data */
	for (const char *a = augmentation + 1; *a && !c.bad; a++)
		if (*a == 'R') {
			*out = (uint8_t)take(&c, 1);
			return !c.bad;
		} else if (*a == 'P') {
			e = (uint8_t)take(&c, 1);
			take_pointer(&c, e & (FORM | PCREL));
		} else if (*a == 'L') {
			take(&c, 1);
		}
	return !c.bad;
}

static int
push(struct list *l, uint64_t function, uint64_t fde)
{
	int64_t to = (int64_t)(function - l->base);
	int64_t at = (int64_t)(fde - l->base);
	struct unwind_row *more;
	uint32_t cap;

	if (to != (int32_t)to || at != (int32_t)at)
		return 0; /* no row can say this */
	if (l->n == UNWIND_MAX_ROWS)
		return -E2BIG;
	if (l->n == l->cap) {
		cap = l->cap ? l->cap * 2 : 256;
		more = reallocarray(l->rows, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->rows = more;
		l->cap = cap;
	}
	l->rows[l->n++] = (struct unwind_row){(int32_t)to, (int32_t)at};
	return 0;
}

static int
by_function(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	return (x->function > y->function) - (x->function < y->function);
}

static int
list_entries(struct cursor *section, struct list *l)
{
	struct cursor c;
	uint64_t back, function;
	uint8_t encoding;
	size_t start, id;
	int r = 0;

	for (;;) {
		start = section->at;
		if (r || !next_entry(section, &c))
			return r;
		id = c.at;
		back = take(&c, 4); /* 0: a CIE */
		if (c.bad || !back || back > id ||
		    !cie_encoding(section, id - (size_t)back, &encoding))
			continue;
		function = take_pointer(&c, encoding & (uint8_t)~INDIRECT);
		if (!c.bad)
			r = push(l, function, section->in->vaddr + start);
	}
}

int
unwind_rows(const struct unwind_chunk *frames, uint64_t base,
            struct unwind_row **rows, uint32_t *n)
{
	struct cursor section = {.in = frames,
	                         .at = (size_t)(base - frames->vaddr),
	                         .end = frames->size};
	struct list l = {.base = base};
	int r = list_entries(&section, &l);

	if (!r && !l.n)
		r = -ENODATA;
	if (r) {
		free(l.rows);
		return r;
	}
	qsort(l.rows, l.n, sizeof(*l.rows), by_function);
	*rows = l.rows;
	*n = l.n;
	return 0;
}
