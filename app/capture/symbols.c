#include "capture/symbols.h"

#include "demangle.h"
#include "dwarf_index.h"
#include "symtab.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_INLINED 64 /* frames at one address, at most */

struct module {
	const struct elf_image *elf, *debug; /* elf NULL: not there */
	bool ready;
	struct symtab symtab;      /* empty: none */
	struct dwarf_index *dwarf; /* NULL: none */
};

struct symbolizer {
	struct module *modules;
	uint32_t n;
	struct demangle_cache *names;
};

struct symbolizer *
symbolizer_new(void)
{
	CLEANUP_SYMBOLIZER struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->names = demangle_cache_new();
	return s->names ? TAKE(s) : NULL;
}

void
symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		symtab_done(&s->modules[i].symtab);
		dwarf_index_free(s->modules[i].dwarf);
	}
	demangle_cache_free(s->names);
	free(s->modules);
	free(s);
}

static int
make_room(struct symbolizer *s, uint32_t module)
{
	struct module *more;
	uint32_t n = s->n ? s->n : 16;

	while (n <= module)
		n *= 2;
	if (n == s->n)
		return 0;
	more = reallocarray(s->modules, n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = s->n; i < n; i++)
		more[i] = (struct module){0};
	s->modules = more;
	s->n = n;
	return 0;
}

int
symbolizer_add(struct symbolizer *s, uint32_t module,
               const struct elf_image *elf, const struct elf_image *debug)
{
	int r;

	if (module >= SYMBOLIZER_MAX_MODULES)
		return -EINVAL;
	r = make_room(s, module);
	if (r)
		return r;
	if (s->modules[module].elf)
		return -EEXIST;
	s->modules[module].elf = elf;
	s->modules[module].debug = debug;
	return 0;
}

/* What can't be read is done without: the caller shows addresses. */
static void
prepare(struct module *m)
{
	m->ready = true;
	if (symtab_init(m->elf, m->debug, &m->symtab))
		m->symtab = (struct symtab){0};
	if ((!m->debug || dwarf_index_new(m->debug, &m->dwarf)) &&
	    dwarf_index_new(m->elf, &m->dwarf))
		m->dwarf = NULL;
}

static void
fill(struct symbolizer *s, const struct dwarf_frame *from,
     struct sym_frame *out)
{
	*out = (struct sym_frame){
		.name = demangle_cached(s->names, from->name),
		.system_name = from->name,
		.file = from->file ? from->file : "",
		.line = from->line,
		.start_line = from->start_line,
	};
}

/*
 * The function really called is named as the symbol table does: clones and
 * aliases have their own names there, and perf shows those.
 */
size_t
symbolizer_lookup(struct symbolizer *s, uint32_t module, uint64_t vaddr,
                  struct sym_frame *out, size_t max)
{
	struct dwarf_frame found[MAX_INLINED];
	const struct symbol *symbol;
	struct module *m;
	size_t n = 0, kept = 0;

	if (module >= s->n || !s->modules[module].elf || !max)
		return 0;
	m = &s->modules[module];
	if (!m->ready)
		prepare(m);
	if (m->dwarf)
		n = dwarf_index_lookup(m->dwarf, vaddr, found, MAX_INLINED);
	symbol = symtab_lookup(&m->symtab, vaddr);
	if (!n && symbol)
		found[n++] = (struct dwarf_frame){0};
	if (n && symbol)
		found[n - 1].name = symtab_name(&m->symtab, symbol);
	for (size_t i = 0; i < n && kept < max; i++)
		if (found[i].name && *found[i].name)
			fill(s, &found[i], &out[kept++]);
	return kept;
}
