#include "kallsyms.h"

#include "symbols_text.h"
#include "symtab.h"

#include <errno.h>
#include <string.h>

#define KERNEL_HALF (UINT64_C(1) << 63)

struct rows {
	struct symtab_row *p;
	size_t n, cap;
};

static void
rows_done(struct rows *r)
{
	free(r->p);
}

/* Ranks symbols: global before local before weak; other types are not code. */
static bool
rank_of(char type, uint8_t *out)
{
	static const char order[] = "TtWw";
	const char *at = type ? strchr(order, type) : NULL;

	if (!at)
		return false;
	*out = (uint8_t)(at - order);
	return true;
}

/*
 * Prefix of a system call's second name. System calls without arguments have
 * one body for programs of 32 and 64 bits; nearly always the 64-bit name is
 * meant.
 *   Source   Linux arch/x86/include/asm/syscall_wrapper.h
 */
#define OTHER_ABI  "__ia32_"
#define RANK_OTHER 8

static bool
parse_line(char *line, struct symtab_row *out)
{
	char *p = line;

	if (!text_hex(&p, &out->start) || !rank_of(p[0], &out->rank) ||
	    p[1] != ' ')
		return false;
	out->name = p + 2;
	p[2 + strcspn(p + 2, " \t\r")] = '\0'; /* "[module]" follows */
	if (!strncmp(out->name, OTHER_ABI, strlen(OTHER_ABI)))
		out->rank += RANK_OTHER;
	return out->name[0] != '\0';
}

static int
push(struct rows *r, const struct symtab_row *row)
{
	struct symtab_row *more;
	size_t cap;

	if (r->n == KALLSYMS_MAX_ROWS)
		return -E2BIG;
	if (r->n == r->cap) {
		cap = r->cap ? r->cap * 2 : 4096;
		more = reallocarray(r->p, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->p = more;
		r->cap = cap;
	}
	r->p[r->n++] = *row;
	return 0;
}

/* Keeps the file's order among equal ranks. */
static int
by_start(const void *a, const void *b)
{
	const struct symtab_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void
keep_first(struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (!n || r->p[n - 1].start != r->p[i].start)
			r->p[n++] = r->p[i];
	r->n = n;
}

static void
set_ends(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct symtab_row *row = &r->p[i];

		row->end = i + 1 < r->n ? row[1].start : UINT64_MAX;
		if (row->end - row->start > KALLSYMS_MAX_SIZE)
			row->end = row->start + KALLSYMS_MAX_SIZE;
	}
}

static int
parse(struct rows *r, char *text, size_t len)
{
	char *rest = text, *line;
	bool zeros = false;
	struct symtab_row row = {0};
	int rc;

	while ((line = text_line(&rest, text + len))) {
		if (!parse_line(line, &row))
			continue;
		zeros |= !row.start;
		rc = row.start >= KERNEL_HALF ? push(r, &row) : 0;
		if (rc)
			return rc;
	}
	if (!r->n)
		return zeros ? -EACCES : -ENODATA;
	return 0;
}

int
kallsyms_build(struct buf *text, struct buf *out)
{
	CLEANUP(rows_done) struct rows r = {0};
	int rc = text->len ? parse(&r, text->p, text->len) : -ENODATA;

	if (rc)
		return rc;
	qsort(r.p, r.n, sizeof(*r.p), by_start);
	keep_first(&r);
	set_ends(&r);
	return symtab_write(r.p, r.n, out);
}
