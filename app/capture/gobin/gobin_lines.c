/*
 * Finds names, files and lines of an address, with the calls inlined there.
 *
 *   Source   runtime/symtabinl.go, inlineUnwinder; runtime/symtab.go,
 *            funcline1; internal/abi/symtab.go for the indexes
 */
#include "gobin_private.h"

#include <string.h>

#define PCDATA_INLINE   2 /* abi.PCDATA_InlTreeIndex */
#define FUNCDATA_INLINE 3 /* abi.FUNCDATA_InlTree */
#define NO_FUNCDATA     UINT32_MAX
#define NO_FILE         UINT32_MAX
#define MAX_INLINE_ROW  20

/* A function, and its tree of inlined calls. */
struct inlines {
	struct gobin *g;
	struct gobin_function f;
	uint64_t tree;  /* vaddr; 0: no inlined calls */
	uint32_t table; /* pc-value table: the tree's row for a pc */
};

static void
open_inlines(struct inlines *in)
{
	const uint8_t size = in->g->version->func_size;
	uint32_t npcdata = gobin_field(&in->f, FUNC_NPCDATA), by;

	if (!in->g->about.gofunc || npcdata <= PCDATA_INLINE ||
	    in->f.row[size - FUNC_NFUNCDATA_BACK] <= FUNCDATA_INLINE)
		return;
	by = gobin_field(&in->f, size + 4 * (npcdata + FUNCDATA_INLINE));
	in->table = gobin_field(&in->f, size + 4 * PCDATA_INLINE);
	if (by != NO_FUNCDATA && in->table)
		in->tree = in->g->about.gofunc + by;
}

/* Finds the tree's row of the call that runs at vaddr; false: the function
 * itself. */
static bool
inline_row(const struct inlines *in, uint64_t vaddr,
           uint8_t out[MAX_INLINE_ROW])
{
	uint64_t size = in->g->version->inline_size, offset, left;
	int32_t i = in->tree ? gobin_value(in->g, &in->f, in->table, vaddr)
	                     : -1;

	return i >= 0 &&
	       elf_offset_of(in->g->elf, in->tree + (uint64_t)i * size, &offset,
	                     &left) &&
	       left >= size && !elf_read(in->g->elf, offset, out, size);
}

static uint32_t
word(const uint8_t *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

/* --- texts ---------------------------------------------------------------- */

static const char *
file_at(const struct inlines *in, uint64_t vaddr)
{
	const struct gobin_pclntab *t = &in->g->tab;
	int32_t i = gobin_value(in->g, &in->f, gobin_field(&in->f, FUNC_PCFILE),
	                        vaddr);
	const uint8_t *p;
	const char *file;
	size_t at;

	if (i < 0)
		return "";
	at = t->units +
	     4 * ((size_t)gobin_field(&in->f, FUNC_UNIT) + (size_t)i);
	p = gobin_bytes(in->g, at, 4);
	if (!p || word(p, 0) == NO_FILE)
		return "";
	file = gobin_text(in->g, t->files + word(p, 0));
	return file ? file : "";
}

/* Sets file and line of vaddr, whichever call it belongs to. */
static void
set_place(const struct inlines *in, uint64_t vaddr, struct gobin_line *out)
{
	int32_t line = gobin_value(in->g, &in->f,
	                           gobin_field(&in->f, FUNC_PCLN), vaddr);

	out->vaddr = vaddr;
	out->file = file_at(in, vaddr);
	out->line = line > 0 ? (uint32_t)line : 0;
}

static const char *
name_at(const struct inlines *in, uint32_t by)
{
	const char *name = gobin_text(in->g, in->g->tab.names + by);

	return name && *name ? name : NULL;
}

/* --- rows ----------------------------------------------------------------- */

static void
add_inlined(const struct inlines *in, const uint8_t *row, uint64_t vaddr,
            struct gobin_line *out)
{
	const struct gobin_version *v = in->g->version;

	*out = (struct gobin_line){
		.name = name_at(in, word(row, v->inline_name)),
		.start_line = v->inline_start ? word(row, v->inline_start) : 0,
		.func = (uint8_t)gobin_func_of(in->g, row[v->inline_func]),
		.inlined = true,
	};
	set_place(in, vaddr, out);
}

static void
add_itself(const struct inlines *in, uint64_t vaddr, struct gobin_line *out)
{
	const uint8_t size = in->g->version->func_size;

	*out = (struct gobin_line){
		.name = name_at(in, gobin_field(&in->f, FUNC_NAME)),
		.start_line = size > FUNC_START_LINE + FUNC_ID_BACK
	                              ? gobin_field(&in->f, FUNC_START_LINE)
	                              : 0,
		.func = (uint8_t)gobin_func_of(in->g,
	                                       in->f.row[size - FUNC_ID_BACK]),
	};
	set_place(in, vaddr, out);
}

size_t
gobin_lines(struct gobin *g, uint64_t vaddr, struct gobin_line *out, size_t max)
{
	struct inlines in = {.g = g};
	uint8_t row[MAX_INLINE_ROW];
	struct gobin_line itself;
	size_t n = 0;

	if (!max || !gobin_function(g, vaddr, &in.f))
		return 0;
	open_inlines(&in);
	for (unsigned i = 0; i < GOBIN_MAX_LINES; i++) {
		if (!inline_row(&in, vaddr, row))
			break;
		if (n + 1 < max) {
			add_inlined(&in, row, vaddr, &out[n]);
			n += out[n].name != NULL;
		}
		vaddr = in.f.entry + word(row, g->version->inline_parent);
	}
	add_itself(&in, vaddr, &itself);
	if (!itself.name)
		return 0;
	out[n++] = itself;
	return n;
}
