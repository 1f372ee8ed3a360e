#include "symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
find_typed(const struct elf_image *e, uint32_t type, struct symtab_place *out)
{
	const struct elf_section *s = elf_section_typed(e, type), *names;

	if (!s || !s->size || s->link >= e->nsections)
		return -ENOENT;
	names = &e->sections[s->link];
	if (names->type != SHT_STRTAB)
		return -ENOENT;
	*out = (struct symtab_place){s->offset, s->size, names->offset,
	                             names->size};
	return 0;
}

/*
 * Which of two names for one address people should see; true: a.
 *   Source   choose_best_symbol() of Linux tools/perf/util/symbol.c: the
 *            names are then those that perf report shows
 */
static bool
is_better(const struct symtab *t, const struct symbol *a,
          const struct symbol *b)
{
	const char *x = t->names + a->name, *y = t->names + b->name;
	bool sized_a = a->end > a->start, sized_b = b->end > b->start;
	size_t under_x, under_y;

	if (sized_a != sized_b)
		return sized_a;
	if ((a->binding == STB_WEAK) != (b->binding == STB_WEAK))
		return b->binding == STB_WEAK;
	if ((a->binding == STB_GLOBAL) != (b->binding == STB_GLOBAL))
		return a->binding == STB_GLOBAL;
	under_x = strspn(x, "_");
	under_y = strspn(y, "_");
	if (under_x != under_y)
		return under_x < under_y;
	return strlen(x) > strlen(y);
}

static int
by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void
keep_best(struct symtab *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct symbol *last = n ? &t->rows[n - 1] : NULL;

		if (!last || last->start != t->rows[i].start)
			t->rows[n++] = t->rows[i];
		else if (is_better(t, &t->rows[i], last))
			*last = t->rows[i];
	}
	t->n = n;
}

/* Hand-written assembly often has no sizes: such a function reaches to the
 * next one, the last of all by a page at most. */
static void
close_gaps(struct symtab *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct symbol *s = &t->rows[i];

		if (s->end > s->start)
			continue;
		s->end = i + 1 < t->n ? s[1].start : s->start + 4096;
		if (s->end < s->start)
			s->end = UINT64_MAX;
	}
}

static bool
is_function(const struct symtab *t, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       s->st_shndx != SHN_UNDEF && s->st_value &&
	       s->st_value < UINT64_MAX && s->st_name < t->names_size &&
	       t->names[s->st_name];
}

static int
fill(struct symtab *t, const Elf64_Sym *syms, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += is_function(t, &syms[i]);
	if (!count)
		return -ENODATA;
	t->rows = calloc(count, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const Elf64_Sym *s = &syms[i];

		if (!is_function(t, s))
			continue;
		t->rows[t->n++] = (struct symbol){
			.start = s->st_value,
			.end = s->st_size > UINT64_MAX - s->st_value
		                       ? UINT64_MAX
		                       : s->st_value + s->st_size,
			.name = s->st_name,
			.binding = ELF64_ST_BIND(s->st_info),
		};
	}
	qsort(t->rows, t->n, sizeof(*t->rows), by_start);
	keep_best(t);
	close_gaps(t);
	return 0;
}

static int
read_place(const struct elf_image *e, const struct symtab_place *at,
           struct symtab *out)
{
	CLEANUP_SYMTAB struct symtab t = {0};
	CLEANUP_FREE void *syms = NULL;
	void *names = NULL;
	int r = elf_copy(e, at->symbols, at->size,
	                 SYMTAB_MAX_ROWS * sizeof(Elf64_Sym), &syms);

	if (!r)
		r = elf_copy(e, at->names, at->names_size, SYMTAB_MAX_NAMES,
		             &names);
	if (r)
		return r;
	t.names = names;
	t.names_size = (size_t)at->names_size;
	r = fill(&t, syms, (size_t)at->size / sizeof(Elf64_Sym));
	if (r)
		return r;
	*out = t;
	t = (struct symtab){0};
	return 0;
}

int
symtab_init(const struct elf_image *elf, const struct elf_image *debug,
            struct symtab *out)
{
	struct symtab_place at;
	int r = -ENODATA;

	if (debug && !find_typed(debug, SHT_SYMTAB, &at))
		r = read_place(debug, &at, out);
	if (r && r != -ENOMEM && !find_typed(elf, SHT_SYMTAB, &at))
		r = read_place(elf, &at, out);
	if (r && r != -ENOMEM && !find_typed(elf, SHT_DYNSYM, &at))
		r = read_place(elf, &at, out);
	if (r && r != -ENOMEM && !symtab_dynamic(elf, &at))
		r = read_place(elf, &at, out);
	return r;
}

void
symtab_done(struct symtab *t)
{
	free(t->rows);
	free(t->names);
	*t = (struct symtab){0};
}

const struct symbol *
symtab_lookup(const struct symtab *t, uint64_t vaddr)
{
	uint32_t lo = 0, hi = t->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->rows[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || vaddr >= t->rows[lo - 1].end)
		return NULL;
	return &t->rows[lo - 1];
}
