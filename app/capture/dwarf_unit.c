#include "dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

/* A walk over the tree; a broken one can refer to itself, but no honest one
 * has more entries than its unit has bytes. */
struct walk {
	struct dwarf_unit *unit;
	uint64_t budget; /* entries left */
	int err;
};

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

static int
push(struct dwarf_unit *u, const struct dwarf_scope *s)
{
	struct dwarf_scope *more;
	uint32_t cap;

	if (u->n == DWARF_MAX_SCOPES)
		return -E2BIG;
	if (u->n == u->cap) {
		cap = u->cap ? u->cap * 2 : 64;
		more = reallocarray(u->scopes, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		u->scopes = more;
		u->cap = cap;
	}
	u->scopes[u->n++] = *s;
	return 0;
}

static void
add_scopes(struct walk *w, Dwarf_Die *die, bool inlined, uint16_t depth)
{
	struct dwarf_scope s = {.die = dwarf_dieoffset(die),
	                        .parent = DWARF_NO_SCOPE,
	                        .depth = depth,
	                        .inlined = inlined};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (inlined)
		s.call_line = number(die, DW_AT_call_line);
	while (!w->err &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		s.start = start;
		s.end = end;
		if (start < end)
			w->err = push(w->unit, &s);
	}
}

/* True: functions may be below this entry. */
static bool
visit(struct walk *w, Dwarf_Die *die, uint16_t depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		add_scopes(w, die, dwarf_tag(die) != DW_TAG_subprogram, depth);
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
walk_children(struct walk *w, Dwarf_Die *parent, uint16_t depth)
{
	Dwarf_Die die;

	if (depth > DWARF_MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		if (!w->budget || w->err)
			return;
		w->budget--;
		if (visit(w, &die, depth))
			walk_children(w, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static int
by_start(const void *a, const void *b)
{
	const struct dwarf_scope *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (int)x->depth - (int)y->depth;
}

/* Ranges nest, so the scope around one is the nearest before it that has not
 * ended; the chain of parents always goes down in index. */
static void
link_parents(struct dwarf_unit *u)
{
	uint32_t open = DWARF_NO_SCOPE;

	for (uint32_t i = 0; i < u->n; i++) {
		while (open != DWARF_NO_SCOPE &&
		       u->scopes[open].end <= u->scopes[i].start)
			open = u->scopes[open].parent;
		u->scopes[i].parent = open;
		open = i;
	}
}

int
dwarf_unit_new(Dwarf *dw, Dwarf_Off die, struct dwarf_unit **out)
{
	CLEANUP(dwarf_unit_free_ptr)
	struct dwarf_unit *u = calloc(1, sizeof(*u));
	struct walk w = {.unit = u, .budget = DWARF_MAX_BYTES};

	if (!u)
		return -ENOMEM;
	if (!dwarf_offdie(dw, die, &u->die))
		return -ENODATA;
	walk_children(&w, &u->die, 0);
	if (w.err)
		return w.err;
	if (u->n)
		qsort(u->scopes, u->n, sizeof(*u->scopes), by_start);
	link_parents(u);
	*out = TAKE(u);
	return 0;
}

void
dwarf_unit_free(struct dwarf_unit *u)
{
	if (!u)
		return;
	free(u->scopes);
	free(u);
}

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

static const struct dwarf_frame *
describe(Dwarf *dw, struct dwarf_scope *s)
{
	Dwarf_Die die;
	int line = 0;

	if (s->named || !dwarf_offdie(dw, s->die, &die))
		return &s->what;
	s->named = true;
	s->what.name = linkage_name(&die);
	s->what.file = dwarf_decl_file(&die);
	if (!dwarf_decl_line(&die, &line) && line > 0)
		s->what.start_line = (uint32_t)line;
	return &s->what;
}

static uint32_t
innermost(const struct dwarf_unit *u, uint64_t vaddr)
{
	uint32_t lo = 0, hi = u->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (u->scopes[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : DWARF_NO_SCOPE;
}

/* What the line table says: the innermost frame's line, and a file for those
 * that don't tell theirs. */
static struct dwarf_frame
line_at(struct dwarf_unit *u, uint64_t vaddr)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->die, vaddr);
	struct dwarf_frame f = {0};
	int line = 0;

	if (!l)
		return f;
	f.file = dwarf_linesrc(l, NULL, NULL);
	if (!dwarf_lineno(l, &line) && line > 0)
		f.line = (uint32_t)line;
	return f;
}

size_t
dwarf_unit_lookup(struct dwarf_unit *u, Dwarf *dw, uint64_t vaddr,
                  struct dwarf_frame *out, size_t max)
{
	struct dwarf_frame here = line_at(u, vaddr);
	uint32_t i = innermost(u, vaddr), line = here.line;
	size_t n = 0;

	for (; i != DWARF_NO_SCOPE && n < max; i = u->scopes[i].parent) {
		struct dwarf_scope *s = &u->scopes[i];

		if (s->end <= vaddr)
			continue;
		out[n] = *describe(dw, s);
		out[n].line = line;
		if (!out[n].file)
			out[n].file = here.file;
		line = s->call_line;
		/* An inlined call without a name tells nobody anything. */
		n += !s->inlined || out[n].name;
		if (!s->inlined)
			return n;
	}
	if (!n && max)
		out[n++] = here;
	return n;
}
