#include "location.h"

#include "base/rows.h"
#include "capture/interp/interp_codes.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINES     PROFILE_MAX_LINES
#define MAX_KERNEL_TEXT ((uint64_t)64 << 20)
#define KERNEL_PAGE     4096
#define KERNEL_NAME     "[kernel.kallsyms]" /* the name that pprof tools know */

static int
hex_build_id(const struct module *m, struct profile *p, uint32_t *out)
{
	const uint8_t *id = m->elf ? m->elf->build_id : m->build_id;
	uint32_t n = m->elf ? m->elf->build_id_size : m->build_id_size;
	CLEANUP_BUF struct buf hex = BUF_INIT(2 * ELF_MAX_BUILD_ID + 1);

	buf_hex(&hex, id, n);
	return buf_err(&hex) ? buf_err(&hex)
	                     : profile_cstring(p, buf_str(&hex), out);
}

/* Adds a module's segment, with addresses as if the module were loaded where it
 * is linked. */
static void
mapping_range(const struct module *m, uint64_t vaddr, struct mapping *out)
{
	out->limit = UINT64_MAX;
	if (!m->elf)
		return;
	for (uint32_t i = 0; i < m->elf->nsegments; i++) {
		const struct elf_segment *s = &m->elf->segments[i];

		if (s->type != PT_LOAD || vaddr - s->vaddr >= s->memsz)
			continue;
		out->start = s->vaddr;
		out->limit = s->vaddr + s->memsz;
		out->offset = s->offset;
		return;
	}
}

int
finish_mapping(const struct modules *modules, struct profile *p,
               struct place at, uint32_t *out)
{
	const struct module *m = modules->rows[at.module];
	const char *name = at.module == MODULE_KERNEL ? KERNEL_NAME : m->path;
	struct mapping row = {.has_functions = true,
	                      .has_files = true,
	                      .has_lines = true,
	                      .has_inlines = true};
	int rc;

	if (m->interp)
		row.interpreter = (uint8_t)(m->interp->language->id + 1);
	mapping_range(m, at.vaddr, &row);
	rc = profile_cstring(p, name, &row.file);
	if (!rc)
		rc = hex_build_id(m, p, &row.build_id);
	return rc ? rc : profile_mapping(p, &row, out);
}

static int
add_function(struct profile *p, const struct sym_frame *sym, uint32_t *out)
{
	struct function row = {.start_line = sym->start_line};
	int rc = profile_cstring(p, sym->name, &row.name);

	if (!rc)
		rc = profile_cstring(p, sym->system_name, &row.system_name);
	if (!rc)
		rc = profile_cstring(p, sym->file, &row.file);
	return rc ? rc : profile_function(p, &row, out);
}

/*
 * Returns the address to store for a kernel address. The kernel's place is
 * random and secret, so addresses count from the start of its text. Modules are
 * at random pages elsewhere: only the offset in the page is stored for them,
 * and for all when the text's start is unknown.
 */
static uint64_t
stored_address(const struct symtab *kernel, struct place at)
{
	if (at.module != MODULE_KERNEL)
		return at.vaddr;
	if (kernel->n && at.vaddr - kernel->rows[0].start < MAX_KERNEL_TEXT)
		return at.vaddr - kernel->rows[0].start;
	return at.vaddr % KERNEL_PAGE;
}

/* Returns how much is known about a place with these names. */
static enum naming
naming_of(const struct namer *n, struct place at, const struct sym_frame *names,
          size_t count)
{
	if (count)
		return *names[0].system_name ? NAMING_FUNCTION : NAMING_PLACE;
	return namer_knows_code(n, at) ? NAMING_PLACE : NAMING_UNKNOWN;
}

int
finish_location(struct namer *n, struct profile *p, struct place at,
                uint32_t *out, enum naming *naming)
{
	struct sym_frame names[MAX_INLINES];
	struct line lines[MAX_INLINES];
	size_t count = namer_lookup(n, at, names, MAX_INLINES);
	const enum naming is = naming_of(n, at, names, count);
	uint32_t mapping = PROFILE_NONE;
	int rc = 0;

	if (!count)
		count = namer_unknown(n, at, names);
	for (size_t i = 0; i < count && !rc; i++) {
		lines[i].line = names[i].line;
		rc = add_function(p, &names[i], &lines[i].function);
	}
	if (!rc)
		rc = finish_mapping(n->modules, p, at, &mapping);
	if (!rc)
		rc = profile_location(p, mapping,
		                      stored_address(&n->kernel, at), lines,
		                      (uint32_t)count, out);
	*naming = is;
	return rc;
}

/* True for functions through which languages call an allocator, by prefixes of
 * their names: operator new, and Rust's.
 *   Source   Itanium C++ ABI, 5.1.5; rustc_ast/src/expand/allocator.rs */
static bool
is_before_allocator(const struct profile *p, uint32_t location)
{
	static const char *const names[] = {"_Znw", "_Zna", "__rust_", "__rdl_",
	                                    "__rg_"};
	const struct location *l = &p->locations[location];
	const struct function *f;
	const char *name;

	if (!l->nlines)
		return false;
	f = &p->functions[p->lines[l->line0 + l->nlines - 1].function];
	name = profile_text(p, f->system_name);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

uint32_t
locations_of_allocator(const struct profile *p, const uint32_t *stack,
                       uint32_t n, bool within)
{
	uint32_t i = within;

	while (i < n && is_before_allocator(p, stack[i]))
		i++;
	return i < n ? i : 0;
}

struct locations
locations_of(struct namer *n, struct profile *p)
{
	return (struct locations){
		.namer = n, .p = p, .places = {.max = PAIRS_MAX}};
}

void
locations_done(struct locations *l)
{
	pairs_done(&l->places);
	free(l->known);
}

static int
find_location(struct locations *l, struct place at, struct known_location *out)
{
	uint32_t before = l->places.n, i;
	int rc = pairs_intern(&l->places, at.module, at.vaddr, &i);

	if (rc)
		return rc;
	rc = ROWS_REACH(l->known, l->cap, i);
	if (rc)
		return rc;
	if (l->places.n > before)
		rc = finish_location(l->namer, l->p, at, &l->known[i].row,
		                     &l->known[i].naming);
	*out = l->known[i];
	return rc;
}

int
locations_find(struct locations *l, const struct place *places, size_t n,
               uint32_t *out)
{
	struct quality *q = l->namer->quality;
	bool unknown = false, leaf = false;

	for (size_t i = 0; i < n; i++) {
		struct known_location is;
		int rc = find_location(l, places[i], &is);

		if (rc)
			return rc;
		out[i] = is.row;
		q->frames++;
		q->symbolized += is.naming == NAMING_FUNCTION;
		q->nameless += !i && is.naming != NAMING_FUNCTION;
		unknown |= is.naming == NAMING_UNKNOWN;
		leaf |= !i && unknown;
	}
	q->unknown += leaf;
	q->unknown_callers += unknown && !leaf;
	return 0;
}
