#include "base/hash.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256 /* a power of two */

/* An attribute of LLVM and GCC that elfutils 0.188 does not know. */
#define GNU_DISCRIMINATOR 0x2136

/* --- a hash table of numbers ---------------------------------------------- */

/* Maps numbers to numbers while one unit is indexed. */
struct numbers {
	struct number_slot {
		uint64_t key; /* 0: free */
		uint32_t value;
	} * slots;
	uint32_t n, cap;
};

static void
numbers_done(struct numbers *m)
{
	free(m->slots);
}

static struct number_slot *
slot_of(struct number_slot *slots, uint32_t cap, uint64_t key)
{
	uint32_t i = (uint32_t)hash_u64(key) & (cap - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int
grow(struct numbers *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : FIRST_SLOTS;
	struct number_slot *more = calloc(cap, sizeof(*more));

	if (!more)
		return -1;
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			*slot_of(more, cap, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = more;
	m->cap = cap;
	return 0;
}

/* Returns the place for the value of key, which is not 0; a new value is 0.
 * Returns NULL when out of memory. The place is valid until the next call. */
static uint32_t *
numbers_at(struct numbers *m, uint64_t key)
{
	struct number_slot *s;

	if (m->n >= m->cap / 2 && grow(m))
		return NULL;
	s = slot_of(m->slots, m->cap, key);
	if (!s->key) {
		s->key = key;
		m->n++;
	}
	return &s->value;
}

/* --- the unit ------------------------------------------------------------- */

/* A walk over the tree. A broken tree can refer to itself, but no valid one has
 * more entries than its unit has bytes. */
struct walk {
	struct buf scopes, lines, names;
	struct numbers texts;   /* address of a text -> offset in names */
	struct numbers origins; /* entry -> number of its scope + 1 */
	uint64_t budget;        /* entries left */
	Dwarf_Files *files;     /* of the skeleton; NULL: the unit's own */
	size_t nfiles;
	uint64_t start; /* added to ranges without a base */
	int err;
};

static void
walk_done(struct walk *w)
{
	buf_done(&w->scopes);
	buf_done(&w->lines);
	buf_done(&w->names);
	numbers_done(&w->texts);
	numbers_done(&w->origins);
}

static uint32_t
number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, name, &a) || dwarf_formudata(&a, &v) ||
	    v > INT32_MAX)
		return 0;
	return (uint32_t)v;
}

/* Adds a text; libdw's texts stay in place until it is closed. */
static uint32_t
add_text(struct walk *w, const char *s)
{
	uint32_t *at;

	if (!s || !*s)
		return 0;
	at = numbers_at(&w->texts, (uintptr_t)s);
	if (!at) {
		w->err = -ENOMEM;
		return 0;
	}
	if (!*at) {
		*at = (uint32_t)w->names.len;
		buf_add(&w->names, s, strlen(s) + 1);
	}
	return *at;
}

/* --- functions and inlined calls ------------------------------------------ */

static const char *
linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *s = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		s = dwarf_formstring(&a);
	return s ? s : dwarf_diename(die);
}

/* Follows references to the entry that describes a function, which may be
 * inlined at many places. */
static uint64_t
origin_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Die origin;

	if (dwarf_attr(die, DW_AT_abstract_origin, &a) &&
	    dwarf_formref_die(&a, &origin))
		return dwarf_dieoffset(&origin);
	return dwarf_dieoffset(die);
}

/* Files of split units are numbered in the skeleton's line table. */
static const char *
decl_file(const struct walk *w, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Word n;

	if (!w->files)
		return dwarf_decl_file(die);
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &a) ||
	    dwarf_formudata(&a, &n) || n >= w->nfiles)
		return NULL;
	return dwarf_filesrc(w->files, n, NULL, NULL);
}

static void
describe(struct walk *w, Dwarf_Die *die, struct dwarf_scope *s)
{
	int line = 0;

	s->name = add_text(w, linkage_name(die));
	s->file = add_text(w, decl_file(w, die));
	if (!dwarf_decl_line(die, &line) && line > 0)
		s->start_line = (uint32_t)line;
}

static void
describe_once(struct walk *w, Dwarf_Die *die, struct dwarf_scope *s)
{
	uint32_t *known = numbers_at(&w->origins, origin_of(die));
	const struct dwarf_scope *like;

	if (!known) {
		w->err = -ENOMEM;
		return;
	}
	if (!*known) {
		*known = (uint32_t)(w->scopes.len / sizeof(*s)) + 1;
		describe(w, die, s);
		return;
	}
	like = (const struct dwarf_scope *)w->scopes.p + *known - 1;
	s->name = like->name;
	s->file = like->file;
	s->start_line = like->start_line;
}

/* Adds a scope's ranges. Entries without code are declarations, or functions
 * that were inlined everywhere. */
static void
add_scopes(struct walk *w, Dwarf_Die *die, bool inlined)
{
	struct dwarf_scope s = {.inlined = inlined, .parent = DWARF_NO_SCOPE};
	Dwarf_Addr base, start, end;
	bool described = false;
	ptrdiff_t at = 0;

	while (!w->err &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (!described) {
			s.call_line = inlined ? number(die, DW_AT_call_line)
			                      : 0;
			s.discriminator =
				inlined ? number(die, GNU_DISCRIMINATOR) &
						  INT32_MAX
					: 0;
			describe_once(w, die, &s);
			described = true;
		}
		s.start = start + (base ? 0 : w->start);
		s.end = end + (base ? 0 : w->start);
		buf_add(&w->scopes, &s, sizeof(s));
		w->err = buf_err(&w->scopes);
		if (w->scopes.len > DWARF_MAX_SCOPES * sizeof(s))
			w->err = -E2BIG;
	}
}

/* Visits an entry; true when functions may be below it. */
static bool
visit(struct walk *w, Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		add_scopes(w, die, dwarf_tag(die) != DW_TAG_subprogram);
		return true;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static void
walk_children(struct walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DWARF_MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (!w->budget || w->err)
			return;
		w->budget--;
		if (visit(w, &die))
			walk_children(w, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

/* Orders outer scopes before inner ones; among equal ranges the outer was seen
 * first. */
static int
by_start(const void *a, const void *b)
{
	const struct dwarf_scope *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->parent > y->parent) - (x->parent < y->parent);
}

/* Sets each scope's parent: the nearest scope before it that has not ended.
 * Until sorting, parent holds the order in which scopes were seen. */
static void
sort_scopes(struct dwarf_scope *s, uint32_t n)
{
	uint32_t open = DWARF_NO_SCOPE;

	for (uint32_t i = 0; i < n; i++)
		s[i].parent = i;
	if (n)
		qsort(s, n, sizeof(*s), by_start);
	for (uint32_t i = 0; i < n; i++) {
		while (open != DWARF_NO_SCOPE && s[open].end <= s[i].start)
			open = s[open].parent;
		s[i].parent = open;
		open = i;
	}
}

/* --- lines ---------------------------------------------------------------- */

static bool
read_line(struct walk *w, Dwarf_Line *from, struct dwarf_line *out)
{
	bool end = true;
	int line = 0;

	*out = (struct dwarf_line){0};
	if (dwarf_lineaddr(from, &out->start) ||
	    dwarf_lineendsequence(from, &end))
		return false;
	if (end)
		return true;
	out->file = add_text(w, dwarf_linesrc(from, NULL, NULL));
	if (!dwarf_lineno(from, &line) && line > 0)
		out->line = (uint32_t)line;
	return true;
}

/* Keeps the last row of each address, like dwarf_getsrc_die(). */
static void
push_line(struct buf *lines, const struct dwarf_line *row)
{
	size_t n = lines->len / sizeof(*row);
	struct dwarf_line *last = n ? (struct dwarf_line *)lines->p + n - 1
	                            : NULL;

	if (last && last->start == row->start)
		*last = *row;
	else if (!last || last->file != row->file || last->line != row->line)
		buf_add(lines, row, sizeof(*row));
}

static void
add_lines(struct walk *w, Dwarf_Die *unit)
{
	struct dwarf_line row;
	Dwarf_Lines *lines;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	if (n > DWARF_MAX_LINES) {
		w->err = -E2BIG;
		return;
	}
	for (size_t i = 0; i < n && !w->err; i++)
		if (read_line(w, dwarf_onesrcline(lines, i), &row))
			push_line(&w->lines, &row);
}

static int
write_piece(struct walk *w, bool lacks, struct buf *out)
{
	struct dwarf_unit_head head = {
		.nscopes =
			(uint32_t)(w->scopes.len / sizeof(struct dwarf_scope)),
		.nlines = (uint32_t)(w->lines.len / sizeof(struct dwarf_line)),
		.names_size = (uint32_t)w->names.len,
		.lacks = lacks,
	};

	if (buf_err(&w->scopes) || buf_err(&w->lines) || buf_err(&w->names))
		return -ENOMEM;
	sort_scopes((struct dwarf_scope *)w->scopes.p, head.nscopes);
	buf_add(out, &head, sizeof(head));
	buf_add(out, w->scopes.p, w->scopes.len);
	buf_add(out, w->lines.p, w->lines.len);
	buf_add(out, w->names.p, w->names.len);
	return buf_err(out);
}

int
dwarf_unit_build(Dwarf_Die *unit, const struct dwarf_skeleton *skeleton,
                 Dwarf_Die *split, struct buf *out)
{
	CLEANUP(walk_done)
	struct walk w = {.scopes = BUF_INIT(SYMBOLS_MAX_PIECE),
	                 .lines = BUF_INIT(SYMBOLS_MAX_PIECE),
	                 .names = BUF_INIT(SYMBOLS_MAX_PIECE),
	                 .budget = DWARF_MAX_ENTRIES,
	                 .start = split ? skeleton->start : 0};

	if (skeleton && dwarf_getsrcfiles(unit, &w.files, &w.nfiles))
		w.files = NULL;
	buf_putc(&w.names, '\0');
	walk_children(&w, split ? split : unit, 0);
	if (!w.err)
		add_lines(&w, unit);
	return w.err ? w.err : write_piece(&w, skeleton && !split, out);
}
