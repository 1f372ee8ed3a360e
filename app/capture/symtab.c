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

/* Rows of an image before they are written; names are the file's own. */
struct draft {
	struct symtab_row *rows;
	size_t n;
	const char *names;
	size_t names_size;
};

static void
draft_done(struct draft *d)
{
	free(d->rows);
}

/*
 * Which of two names for one address people should see; true: a.
 *   Source   choose_best_symbol() of Linux tools/perf/util/symbol.c: the
 *            names are then those that perf report shows
 */
static bool
is_better(const struct symtab_row *a, const struct symtab_row *b)
{
	size_t under_a = strspn(a->name, "_"), under_b = strspn(b->name, "_");

	if (!a->end != !b->end)
		return a->end;
	if ((a->rank == STB_WEAK) != (b->rank == STB_WEAK))
		return b->rank == STB_WEAK;
	if ((a->rank == STB_GLOBAL) != (b->rank == STB_GLOBAL))
		return a->rank == STB_GLOBAL;
	if (under_a != under_b)
		return under_a < under_b;
	return strlen(a->name) > strlen(b->name);
}

static int
by_start(const void *a, const void *b)
{
	const struct symtab_row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void
keep_best(struct draft *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct symtab_row *last = n ? &d->rows[n - 1] : NULL;

		if (!last || last->start != d->rows[i].start)
			d->rows[n++] = d->rows[i];
		else if (is_better(&d->rows[i], last))
			*last = d->rows[i];
	}
	d->n = n;
}

static bool
is_function(const struct draft *d, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       s->st_shndx != SHN_UNDEF && s->st_value &&
	       s->st_value < UINT64_MAX && s->st_name < d->names_size &&
	       d->names[s->st_name];
}

static uint64_t
end_of(const Elf64_Sym *s)
{
	if (!s->st_size)
		return 0;
	return s->st_size > UINT64_MAX - s->st_value ? UINT64_MAX
	                                             : s->st_value + s->st_size;
}

static int
fill(struct draft *d, const Elf64_Sym *syms, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += is_function(d, &syms[i]);
	if (!count)
		return -ENODATA;
	d->rows = calloc(count, sizeof(*d->rows));
	if (!d->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_function(d, &syms[i]))
			d->rows[d->n++] = (struct symtab_row){
				.start = syms[i].st_value,
				.end = end_of(&syms[i]),
				.name = d->names + syms[i].st_name,
				.rank = ELF64_ST_BIND(syms[i].st_info),
			};
	qsort(d->rows, d->n, sizeof(*d->rows), by_start);
	keep_best(d);
	return 0;
}

static int
build_from(const struct elf_image *e, const struct symtab_place *at,
           struct buf *out)
{
	CLEANUP(draft_done) struct draft d = {0};
	CLEANUP_FREE void *syms = NULL, *names = NULL;
	int r = elf_copy(e, at->symbols, at->size,
	                 SYMTAB_MAX_ROWS * sizeof(Elf64_Sym), &syms);

	if (!r)
		r = elf_copy(e, at->names, at->names_size, SYMTAB_MAX_NAMES,
		             &names);
	if (r)
		return r;
	d.names = names;
	d.names_size = (size_t)at->names_size;
	r = fill(&d, syms, (size_t)at->size / sizeof(Elf64_Sym));
	return r ? r : symtab_write(d.rows, d.n, out);
}

int
symtab_build(const struct elf_image *elf, const struct elf_image *debug,
             struct buf *out)
{
	struct symtab_place at;
	int r = -ENODATA;

	if (debug && !find_typed(debug, SHT_SYMTAB, &at))
		r = build_from(debug, &at, out);
	if (r && r != -ENOMEM && !find_typed(elf, SHT_SYMTAB, &at))
		r = build_from(elf, &at, out);
	if (r && r != -ENOMEM && !find_typed(elf, SHT_DYNSYM, &at))
		r = build_from(elf, &at, out);
	if (r && r != -ENOMEM && !symtab_dynamic(elf, &at))
		r = build_from(elf, &at, out);
	return r;
}
