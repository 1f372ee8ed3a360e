#include "dwarf_unit.h"

#include "base/rows.h"

#include <errno.h>

int
dwarf_unit_open(const struct symbols_piece *piece, struct dwarf_unit *out)
{
	const struct dwarf_unit_head *head = piece->p;
	size_t left = piece->n, scopes, lines;
	struct dwarf_unit u;

	if (left < sizeof(*head))
		return -EBADMSG;
	left -= sizeof(*head);
	scopes = (size_t)head->nscopes * sizeof(*u.scopes);
	lines = (size_t)head->nlines * sizeof(*u.lines);
	if (scopes > left || lines > left - scopes ||
	    left - scopes - lines != head->names_size)
		return -EBADMSG;
	u.scopes = (const struct dwarf_scope *)(head + 1);
	u.lines = (const struct dwarf_line *)(u.scopes + head->nscopes);
	u.names = (const char *)(u.lines + head->nlines);
	u.nscopes = head->nscopes;
	u.nlines = head->nlines;
	u.names_size = head->names_size;
	u.lacks = head->lacks;
	if (!u.names_size || u.names[u.names_size - 1])
		return -EBADMSG;
	*out = u;
	return 0;
}

static const char *
text(const struct dwarf_unit *u, uint32_t at)
{
	return at < u->names_size ? u->names + at : "";
}

static uint32_t
innermost(const struct dwarf_unit *u, uint64_t vaddr)
{
	uint32_t lo = ROWS_WHILE(u->nscopes, i, u->scopes[i].start <= vaddr);

	return lo ? lo - 1 : DWARF_NO_SCOPE;
}

/* Returns what the line table says: the innermost frame's line, and a file for
 * frames without one. */
static struct dwarf_frame
line_at(const struct dwarf_unit *u, uint64_t vaddr)
{
	uint32_t lo = ROWS_WHILE(u->nlines, i, u->lines[i].start <= vaddr);
	struct dwarf_frame f = {.name = "", .file = ""};

	if (lo) {
		f.file = text(u, u->lines[lo - 1].file);
		f.line = u->lines[lo - 1].line;
	}
	return f;
}

/* Returns a scope's parent. Ranges nest, so a parent comes before its scopes; a
 * later one is not followed. */
static uint32_t
parent_of(const struct dwarf_unit *u, uint32_t i)
{
	return u->scopes[i].parent < i ? u->scopes[i].parent : DWARF_NO_SCOPE;
}

size_t
dwarf_unit_lookup(const struct dwarf_unit *u, uint64_t vaddr,
                  struct dwarf_frame *out, size_t max)
{
	struct dwarf_frame here = line_at(u, vaddr);
	uint32_t i = innermost(u, vaddr), line = here.line, discriminator = 0;
	size_t n = 0;

	for (; i != DWARF_NO_SCOPE && n < max; i = parent_of(u, i)) {
		const struct dwarf_scope *s = &u->scopes[i];

		if (s->end <= vaddr)
			continue;
		out[n] = (struct dwarf_frame){text(u, s->name),
		                              text(u, s->file), line,
		                              s->start_line, discriminator};
		if (!*out[n].file)
			out[n].file = here.file;
		line = s->call_line;
		discriminator = s->discriminator;
		/* An inlined call without a name is useless. */
		n += !s->inlined || *out[n].name;
		if (!s->inlined)
			return n;
	}
	if (!n && max)
		out[n++] = here;
	return n;
}
