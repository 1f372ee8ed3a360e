#include "symbols.h"

#include "capture/gobin/gobin.h"
#include "capture/unwind/unwind_table.h"
#include "code_runs.h"
#include "demangle.h"
#include "dwarf_file.h"
#include "dwarf_sections.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"
#include "symbols_answer.h"
#include "symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINED        64 /* most frames at one address */
#define SYMBOLS_MAX_ANSWER ((size_t)1 << 20)

struct module {
	const struct elf_image *elf, *debug; /* elf is NULL for an unused row */
	const struct elf_image *shared;
	const struct unwind_table *table; /* NULL: not given */
	bool keyed, go_tried, ready;
	struct gobin *go;         /* NULL: no Go program */
	struct symbols_key key;   /* without kind and part */
	struct symtab symtab;     /* empty: none */
	struct dwarf_index units; /* empty: none */
	struct dwarf_file dwarf;  /* opened when a unit is not in the cache */
	bool dwarf_tried;
	struct elf_image *package; /* its .dwp file; NULL: none, or not tried */
	bool package_tried;
};

struct symbolizer {
	struct module *modules;
	uint32_t n;
	struct symbols_cache *cache;
	struct demangle_cache *names;
	struct code_runs *runs;
	symbolizer_open *open; /* NULL: no files of split DWARF */
	void *arg;
	bool unit_lacks; /* the last unit looked up lacks a file */
	bool lacks;      /* any unit did since symbolizer_lacked() */
};

struct symbolizer *
symbolizer_new(struct symbols_cache *cache)
{
	CLEANUP_SYMBOLIZER struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cache = cache;
	s->names = demangle_cache_new();
	s->runs = code_runs_new();
	return s->names && s->runs ? TAKE(s) : NULL;
}

void
symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++) {
		dwarf_file_done(&s->modules[i].dwarf);
		gobin_free(s->modules[i].go);
		elf_free(s->modules[i].package);
	}
	demangle_cache_free(s->names);
	code_runs_free(s->runs);
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

void
symbolizer_share(struct symbolizer *s, uint32_t module,
                 const struct elf_image *shared)
{
	if (module < s->n && s->modules[module].elf)
		s->modules[module].shared = shared;
}

void
symbolizer_frames(struct symbolizer *s, uint32_t module,
                  const struct unwind_table *table)
{
	if (module < s->n && s->modules[module].elf)
		s->modules[module].table = table;
}

void
symbolizer_split(struct symbolizer *s, symbolizer_open *open, void *arg)
{
	s->open = open;
	s->arg = arg;
}

bool
symbolizer_lacked(struct symbolizer *s)
{
	bool lacks = s->lacks;

	s->lacks = false;
	return lacks;
}

/* --- pieces --------------------------------------------------------------- */

/*
 * Makes the key of a piece. An image that is not a file, or whose file can't be
 * identified, is known by its number; such pieces don't outlive the
 * symbolizer's process.
 */
static struct symbols_key
key_of(const struct module *m, uint32_t number)
{
	struct symbols_key key = {0};

	if (!symbols_file_of(m->elf->fd, &key.image) ||
	    (m->debug && !symbols_file_of(m->debug->fd, &key.debug)) ||
	    (m->shared && !symbols_file_of(m->shared->fd, &key.shared)))
		key.image = (struct symbols_file){.size = number};
	return key;
}

/*
 * Stores a piece; when it can't be built, an empty one, so that it is not
 * tried again. -ENOMEM is not stored, since other captures may have more
 * memory.
 */
static bool
keep(struct symbolizer *s, const struct symbols_key *key, int rc,
     struct buf *bytes, struct symbols_piece *out)
{
	if (rc == -ENOMEM)
		return false;
	if (rc)
		buf_done(bytes);
	return !symbols_cache_add(s->cache, key, bytes, out);
}

static bool
piece_of(struct symbolizer *s, struct module *m, enum symbols_kind kind,
         uint64_t part, struct symbols_piece *out);

static Dwarf *
dwarf_of(struct symbolizer *s, struct module *m)
{
	struct symbols_piece p, shared = {0};

	if (m->dwarf_tried)
		return m->dwarf.dw;
	m->dwarf_tried = true;
	if (m->shared && !piece_of(s, m, SYMBOLS_SHARED, 0, &shared))
		shared = (struct symbols_piece){0};
	if (piece_of(s, m, SYMBOLS_SECTIONS, 0, &p) &&
	    !dwarf_file_open(&p, &shared, &m->dwarf))
		return m->dwarf.dw;
	dwarf_file_done(&m->dwarf);
	m->dwarf = (struct dwarf_file){0};
	return NULL;
}

static int
build_sections(const struct module *m, struct buf *out)
{
	int rc = m->debug ? dwarf_sections(m->debug, out) : -ENODATA;

	if (!rc || rc == -ENOMEM)
		return rc;
	buf_clear(out);
	return dwarf_sections(m->elf, out);
}

/* Opens the other part of a unit; false when it can't be found. */
static bool
open_split(struct symbolizer *s, struct module *m,
           const struct dwarf_skeleton *skeleton, struct dwarf_split *out)
{
	const uint32_t number = (uint32_t)(m - s->modules);
	CLEANUP_ELF struct elf_image *file = NULL;

	if (!s->open)
		return false;
	file = s->open(s->arg, number, skeleton->dir, skeleton->name);
	if (file && !dwarf_split_open(skeleton, m->dwarf.elf, file, out))
		return true;
	if (!m->package_tried)
		m->package = s->open(s->arg, number, NULL, NULL);
	m->package_tried = true;
	dwarf_split_done(out);
	return m->package &&
	       !dwarf_split_open(skeleton, m->dwarf.elf, m->package, out);
}

static int
build_unit(struct symbolizer *s, struct module *m, Dwarf *dw, uint64_t at,
           struct buf *out)
{
	CLEANUP(dwarf_split_done) struct dwarf_split split = {.dw = NULL};
	struct dwarf_skeleton skeleton;
	Dwarf_Die unit;

	if (!dwarf_offdie(dw, at, &unit))
		return -ENODATA;
	if (!dwarf_skeleton(&unit, &skeleton))
		return dwarf_unit_build(&unit, NULL, NULL, out);
	return dwarf_unit_build(
		&unit, &skeleton,
		open_split(s, m, &skeleton, &split) ? &split.unit : NULL, out);
}

static int
build(struct symbolizer *s, struct module *m, const struct symbols_key *key,
      struct buf *out)
{
	Dwarf *dw;

	if (key->kind == SYMBOLS_TABLE)
		return symtab_build(m->elf, m->debug, out);
	if (key->kind == SYMBOLS_SECTIONS)
		return build_sections(m, out);
	if (key->kind == SYMBOLS_SHARED)
		return dwarf_sections(m->shared, out);
	dw = dwarf_of(s, m);
	if (!dw)
		return -ENODATA;
	return key->kind == SYMBOLS_UNITS
	               ? dwarf_index_build(dw, out)
	               : build_unit(s, m, dw, key->part, out);
}

static bool
piece_of(struct symbolizer *s, struct module *m, enum symbols_kind kind,
         uint64_t part, struct symbols_piece *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct symbols_key key = m->key;

	key.kind = kind;
	key.part = part;
	return symbols_cache_find(s->cache, &key, out) ||
	       keep(s, &key, build(s, m, &key, &bytes), &bytes, out);
}

/* Opens tables as far as possible: without them the caller shows addresses. */
static void
prepare(struct symbolizer *s, struct module *m)
{
	struct symbols_piece p;

	m->ready = true;
	if (!piece_of(s, m, SYMBOLS_TABLE, 0, &p) ||
	    symtab_open(&p, &m->symtab))
		m->symtab = (struct symtab){0};
	if (!piece_of(s, m, SYMBOLS_UNITS, 0, &p) ||
	    dwarf_index_open(&p, &m->units))
		m->units = (struct dwarf_index){0};
}

/* --- functions without names ---------------------------------------------- */

static bool
take_range(uint64_t from, uint64_t size, uint64_t vaddr, struct code_gap *out)
{
	if (vaddr - from >= size || from > UINT64_MAX - size)
		return false;
	*out = (struct code_gap){from, from + size};
	return true;
}

/* Finds the section of code around vaddr, or else the segment. */
static bool
find_code(const struct elf_image *e, uint64_t vaddr, struct code_gap *out)
{
	for (uint32_t i = 0; i < e->nsections; i++) {
		const struct elf_section *s = &e->sections[i];

		if (s->flags & SHF_EXECINSTR &&
		    take_range(s->vaddr, s->size, vaddr, out))
			return true;
	}
	for (uint32_t i = 0; i < e->nsegments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X &&
		    take_range(s->vaddr, s->filesz, vaddr, out))
			return true;
	}
	return false;
}

/* Narrows a range to the gap between symbols; a symbol without a size begins a
 * gap. */
static void
narrow(const struct symtab *t, uint64_t vaddr, struct code_gap *gap)
{
	const uint32_t above = symtab_above(t, vaddr);
	const struct symbol *before = above ? &t->rows[above - 1] : NULL;
	uint64_t begin = 0;

	if (before)
		begin = before->start + (before->open ? 0 : before->size);
	if (begin > gap->begin && begin <= vaddr)
		gap->begin = begin;
	if (above < t->n && t->rows[above].start < gap->end)
		gap->end = t->rows[above].start;
}

static bool
find_function(struct symbolizer *s, const struct module *m, uint64_t vaddr,
              uint64_t *start)
{
	struct code_gap gap;

	if (m->table && unwind_table_function(m->table, vaddr, start))
		return true;
	if (!find_code(m->elf, vaddr, &gap))
		return false;
	narrow(&m->symtab, vaddr, &gap);
	if (m->table)
		unwind_table_gap(m->table, vaddr, &gap.begin, &gap.end);
	*start = code_runs_find(s->runs, m->elf, gap, vaddr);
	return true;
}

/* Returns the name of the function at vaddr. A symbol without a size reaches as
 * far as the code shows. */
static const char *
symbol_at(struct symbolizer *s, const struct module *m, uint64_t vaddr)
{
	const uint32_t above = symtab_above(&m->symtab, vaddr);
	const struct symbol *row = above ? &m->symtab.rows[above - 1] : NULL;
	uint64_t start;

	const char *name = NULL;

	if (!row || !row->open || !find_function(s, m, vaddr, &start) ||
	    start <= row->start)
		name = symtab_lookup(&m->symtab, vaddr);
	if (!name && m->table)
		name = unwind_table_uncalled(m->table, vaddr);
	return name;
}

static size_t
source_frames(struct symbolizer *s, struct module *m, uint64_t vaddr,
              struct dwarf_frame *out, size_t max)
{
	struct symbols_piece p;
	struct dwarf_unit unit;
	uint64_t at;

	if (!dwarf_index_lookup(&m->units, vaddr, &at) ||
	    !piece_of(s, m, SYMBOLS_UNIT, at, &p) || dwarf_unit_open(&p, &unit))
		return 0;
	s->unit_lacks = unit.lacks;
	return dwarf_unit_lookup(&unit, vaddr, out, max);
}

static void
fill(struct symbolizer *s, const struct dwarf_frame *from,
     struct sym_frame *out)
{
	*out = (struct sym_frame){
		.name = demangle_cached(s->names, from->name),
		.system_name = from->name,
		.file = from->file,
		.line = from->line,
		.start_line = from->start_line,
	};
}

/*
 * Finds names in Go's own table, which lists all functions, stripped or not,
 * at a fraction of DWARF's cost: a Go program's symbols are not even read.
 */
static size_t
frames_by_go(struct module *m, uint64_t vaddr, struct sym_frame *out,
             size_t max)
{
	struct gobin_line found[MAX_INLINED];
	size_t n;

	if (!m->go_tried && gobin_open(m->elf, &m->go))
		m->go = NULL;
	m->go_tried = true;
	n = m->go ? gobin_lines(m->go, vaddr, found,
	                        max < MAX_INLINED ? max : MAX_INLINED)
	          : 0;
	for (size_t i = 0; i < n; i++)
		out[i] = (struct sym_frame){
			.name = found[i].name,
			.system_name = found[i].name,
			.file = found[i].file,
			.line = found[i].line,
			.start_line = found[i].start_line,
		};
	return n;
}

/*
 * Gives the outermost function its name from the symbol table, as perf does:
 * clones and aliases have distinct names there.
 */
static size_t
other_frames(struct symbolizer *s, struct module *m, uint64_t vaddr,
             struct sym_frame *out, size_t max)
{
	struct dwarf_frame found[MAX_INLINED];
	const char *symbol;
	size_t n, kept = 0;

	if (!m->ready)
		prepare(s, m);
	n = source_frames(s, m, vaddr, found, MAX_INLINED);
	symbol = symbol_at(s, m, vaddr);
	if (!n && symbol)
		found[n++] = (struct dwarf_frame){.file = ""};
	if (n && symbol)
		found[n - 1].name = symbol;
	for (size_t i = 0; i < n && kept < max; i++)
		if (*found[i].name)
			fill(s, &found[i], &out[kept++]);
	return kept;
}

static size_t
look_up(struct symbolizer *s, struct module *m, uint64_t vaddr,
        struct sym_frame *out, size_t max)
{
	size_t n = frames_by_go(m, vaddr, out, max);

	return n ? n : other_frames(s, m, vaddr, out, max);
}

/* Keeps an answer for later captures; a failure is ignored. */
static void
keep_answer(struct symbolizer *s, const struct symbols_key *key,
            const struct sym_frame *frames, size_t n)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_ANSWER);
	struct symbols_piece p;

	answer_write(frames, n, s->unit_lacks, &bytes);
	(void)!symbols_cache_add(s->cache, key, &bytes, &p);
}

static size_t
answer(struct symbolizer *s, struct module *m, uint64_t vaddr,
       struct sym_frame out[static MAX_INLINED])
{
	struct symbols_key key = m->key;
	struct symbols_piece p;
	size_t n;

	key.kind = SYMBOLS_ANSWER;
	key.part = vaddr;
	if (!symbols_cache_find(s->cache, &key, &p) ||
	    !answer_open(&p, out, MAX_INLINED, &n, &s->unit_lacks)) {
		s->unit_lacks = false;
		n = look_up(s, m, vaddr, out, MAX_INLINED);
		keep_answer(s, &key, out, n);
	}
	s->lacks |= s->unit_lacks;
	return n;
}

size_t
symbolizer_lookup(struct symbolizer *s, uint32_t module, uint64_t vaddr,
                  struct sym_frame *out, size_t max)
{
	struct sym_frame found[MAX_INLINED];
	struct module *m;
	size_t n;

	if (module >= s->n || !s->modules[module].elf || !max)
		return 0;
	m = &s->modules[module];
	if (!m->keyed)
		m->key = key_of(m, module);
	m->keyed = true;
	n = answer(s, m, vaddr, found);
	if (n > max)
		n = max;
	memcpy(out, found, n * sizeof(*out));
	return n;
}

bool
symbolizer_function(struct symbolizer *s, uint32_t module, uint64_t vaddr,
                    uint64_t *start)
{
	struct module *m;

	if (module >= s->n || !s->modules[module].elf)
		return false;
	m = &s->modules[module];
	if (!m->ready)
		prepare(s, m);
	return find_function(s, m, vaddr, start);
}
