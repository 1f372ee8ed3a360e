#include "symtab.h"

#include "base/rows.h"
#include "capture/elf/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES   2    /* tables in one piece */
#define MAX_OPEN_END 4096 /* bytes of a last function without a size */

/* --- finding a table ------------------------------------------------------ */

/* Offsets and sizes of a symbol table and its names in the file, bytes. */
struct table_place {
	uint64_t symbols, size, names, names_size;
};

static int
find_typed(const struct elf_image *e, uint32_t type, struct table_place *out)
{
	const struct elf_section *s = elf_section_typed(e, type), *names;

	if (!s || !s->size || s->link >= e->nsections)
		return -ENOENT;
	names = &e->sections[s->link];
	if (names->type != SHT_STRTAB)
		return -ENOENT;
	*out = (struct table_place){s->offset, s->size, names->offset,
	                            names->size};
	return 0;
}

/* --- a piece -------------------------------------------------------------- */

struct head {
	uint32_t n, names_size;
};

static bool
is_open(const struct symtab_row *row)
{
	return row->end <= row->start;
}

/* Returns a function's size. Hand-written assembly often has none: such a
 * function reaches at most to the next one or to the end of its section. */
static uint32_t
size_of(const struct symtab_row *rows, size_t n, size_t i)
{
	uint64_t end = rows[i].limit ?: rows[i].start + MAX_OPEN_END, size;

	if (i + 1 < n && (rows[i + 1].start < end || !rows[i].limit))
		end = rows[i + 1].start;
	size = (is_open(&rows[i]) ? end : rows[i].end) - rows[i].start;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Returns the length of a name without its version: "f@@V" is f. */
static size_t
name_length(const struct symtab_row *row)
{
	return row->name[0] ? 1 + strcspn(row->name + 1, "@") : 0;
}

static const char slot_suffix[] = "@plt";

/* Returns the length of a name with its suffix, and the NUL. */
static size_t
name_size(const struct symtab_row *row)
{
	return name_length(row) + (row->slot ? sizeof(slot_suffix) : 1);
}

static void
write_name(const struct symtab_row *row, struct buf *out)
{
	buf_add(out, row->name, name_length(row));
	if (row->slot)
		buf_add(out, slot_suffix, sizeof(slot_suffix) - 1);
	buf_putc(out, '\0');
}

int
symtab_write(const struct symtab_row *rows, size_t n, struct buf *out)
{
	struct head head = {.n = (uint32_t)n};
	size_t names = 0;

	if (n > SYMTAB_MAX_ROWS)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		names += name_size(&rows[i]);
	if (names > SYMTAB_MAX_NAMES)
		return -E2BIG;
	head.names_size = (uint32_t)names;
	buf_reserve(out, sizeof(head) + n * sizeof(struct symbol) + names);
	buf_add(out, &head, sizeof(head));
	names = 0;
	for (size_t i = 0; i < n; i++) {
		struct symbol row = {
			.start = rows[i].start,
			.size = size_of(rows, n, i),
			.name = (uint32_t)names,
			.open = is_open(&rows[i]),
		};

		buf_add(out, &row, sizeof(row));
		names += name_size(&rows[i]);
	}
	for (size_t i = 0; i < n; i++)
		write_name(&rows[i], out);
	return buf_err(out);
}

int
symtab_open(const struct symbols_piece *piece, struct symtab *out)
{
	const struct head *head = piece->p;
	size_t left = piece->n, rows;
	const char *names;

	if (left < sizeof(*head))
		return -EBADMSG;
	left -= sizeof(*head);
	rows = (size_t)head->n * sizeof(struct symbol);
	if (left < rows || left - rows != head->names_size)
		return -EBADMSG;
	names = (const char *)piece->p + sizeof(*head) + rows;
	if (head->names_size && names[head->names_size - 1])
		return -EBADMSG;
	*out = (struct symtab){(const struct symbol *)(head + 1), head->n,
	                       names, head->names_size};
	return 0;
}

uint32_t
symtab_above(const struct symtab *t, uint64_t vaddr)
{
	return ROWS_WHILE(t->n, i, t->rows[i].start <= vaddr);
}

const char *
symtab_lookup(const struct symtab *t, uint64_t vaddr)
{
	uint32_t above = symtab_above(t, vaddr);
	const struct symbol *s;

	if (!above)
		return NULL;
	s = &t->rows[above - 1];
	if (vaddr - s->start >= s->size || s->name >= t->names_size ||
	    !t->names[s->name])
		return NULL;
	return t->names + s->name;
}

/* --- rows of an image ----------------------------------------------------- */

/* Rows of an image before they are written; names are those of the file. */
struct draft {
	struct symtab_row *rows;
	size_t n;
	char *names[MAX_TABLES];
	unsigned ntables;
	struct plt plt;
};

static void
draft_done(struct draft *d)
{
	for (unsigned i = 0; i < d->ntables; i++)
		free(d->names[i]);
	plt_done(&d->plt);
	free(d->rows);
}

/*
 * Chooses between two names for one address; true: a.
 *   Source   choose_best_symbol() of Linux tools/perf/util/symbol.c: the choice
 *            is then that of perf report
 */
static bool
is_better(const struct symtab_row *a, const struct symtab_row *b)
{
	size_t under_a = strspn(a->name, "_"), under_b = strspn(b->name, "_");

	if (!a->end != !b->end)
		return a->end;
	if (a->label != b->label)
		return b->label;
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

static int
by_place(const void *a, const void *b)
{
	const struct symtab_row *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
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

/* Drops labels within functions. */
static void
drop_inner_labels(struct draft *d)
{
	uint64_t end = 0; /* end of the functions before */
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct symtab_row *row = &d->rows[i];

		if (row->label && row->start < end)
			continue;
		if (row->end > end)
			end = row->end;
		d->rows[n++] = *row;
	}
	d->n = n;
}

/* The symbols of one table, in the order of the file. */
struct table {
	const struct elf_image *e;
	const Elf64_Sym *syms;
	size_t n;
	const char *names;
	size_t names_size;
};

static bool
is_named(const struct table *t, const Elf64_Sym *s)
{
	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       s->st_value < UINT64_MAX && s->st_name < t->names_size &&
	       t->names[s->st_name];
}

static bool
is_function(const struct table *t, const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && is_named(t, s);
}

/* Finds the section of code that contains a symbol, or NULL. */
static const struct elf_section *
code_of(const struct table *t, const Elf64_Sym *s)
{
	const struct elf_section *in;

	if (s->st_shndx >= SHN_LORESERVE || s->st_shndx >= t->e->nsections)
		return NULL;
	in = &t->e->sections[s->st_shndx];
	return in->flags & SHF_EXECINSTR && s->st_value >= in->vaddr &&
	                       s->st_value - in->vaddr < in->size
	               ? in
	               : NULL;
}

/*
 * True for a symbol without a type that may be a function, as assemblers leave
 * them. Mapping symbols of aarch64 ($x, $d) and local labels of NASM (f.loop)
 * are not functions.
 *   Source   "ELF for the Arm 64-bit Architecture", 5.5.4; NASM manual, 3.9
 */
static bool
is_label(const struct table *t, const Elf64_Sym *s)
{
	const char *name = t->names + s->st_name;

	return ELF64_ST_TYPE(s->st_info) == STT_NOTYPE && is_named(t, s) &&
	       code_of(t, s) && name[0] != '$' &&
	       (ELF64_ST_BIND(s->st_info) != STB_LOCAL || !strchr(name, '.'));
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
add_rows(struct draft *d, const struct table *t)
{
	struct symtab_row *more;
	size_t count = d->n;

	for (size_t i = 0; i < t->n; i++)
		count += is_function(t, &t->syms[i]) ||
		         is_label(t, &t->syms[i]);
	if (count == d->n)
		return -ENODATA;
	more = reallocarray(d->rows, count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->rows = more;
	for (size_t i = 0; i < t->n; i++) {
		const Elf64_Sym *s = &t->syms[i];
		const struct elf_section *in = code_of(t, s);
		bool label = is_label(t, s);

		if (label || is_function(t, s))
			d->rows[d->n++] = (struct symtab_row){
				.start = s->st_value,
				.end = end_of(s),
				.limit = in ? in->vaddr + in->size : 0,
				.name = t->names + s->st_name,
				.rank = ELF64_ST_BIND(s->st_info),
				.label = label,
			};
	}
	return 0;
}

static int
add_table(struct draft *d, const struct elf_image *e,
          const struct table_place *at)
{
	CLEANUP_FREE void *syms = NULL, *names = NULL;
	struct table t;
	int r = elf_copy(e, at->symbols, at->size,
	                 SYMTAB_MAX_ROWS * sizeof(Elf64_Sym), &syms);

	if (!r)
		r = elf_copy(e, at->names, at->names_size, SYMTAB_MAX_NAMES,
		             &names);
	if (r)
		return r;
	t = (struct table){e, syms, (size_t)at->size / sizeof(Elf64_Sym), names,
	                   (size_t)at->names_size};
	r = add_rows(d, &t);
	if (!r)
		d->names[d->ntables++] = TAKE(names);
	return r;
}

static int
add_symtab(struct draft *d, const struct elf_image *e)
{
	struct table_place at;

	return find_typed(e, SHT_SYMTAB, &at) ? -ENODATA : add_table(d, e, &at);
}

static int
add_dynamic(struct draft *d, const struct elf_image *e)
{
	struct table_place at;

	return find_typed(e, SHT_DYNSYM, &at) ? -ENODATA : add_table(d, e, &at);
}

/* Adds functions that the dynamic symbols lack. */
static int
add_embedded(struct draft *d, const struct elf_image *e)
{
	CLEANUP_ELF struct elf_image *inner = NULL;
	int r = elf_open_debugdata(e, &inner);

	return r ? r : add_symtab(d, inner);
}

static int
add_tables(struct draft *d, const struct elf_image *elf,
           const struct elf_image *debug)
{
	int r = debug ? add_symtab(d, debug) : -ENODATA, more;

	if (r && r != -ENOMEM)
		r = add_symtab(d, elf);
	if (!r || r == -ENOMEM)
		return r;
	r = add_dynamic(d, elf);
	more = r == -ENOMEM ? r : add_embedded(d, elf);
	return more == -ENOMEM || !more ? more : r;
}

/* Finds the function at an address among those that were added so far. */
static const char *
name_at(const struct draft *d, uint64_t vaddr, size_t n)
{
	const struct symtab_row key = {.start = vaddr};
	const struct symtab_row *row =
		n && vaddr ? bsearch(&key, d->rows, n, sizeof(key), by_place)
			   : NULL;

	return row ? row->name : NULL;
}

/* Adds slots of procedure linkage tables, which have no symbols. */
static int
add_slots(struct draft *d, const struct elf_image *e)
{
	const size_t before = d->n;
	struct symtab_row *more;
	int r = plt_read(e, &d->plt);

	if (r)
		return r;
	more = reallocarray(d->rows, d->n + d->plt.n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->rows = more;
	for (size_t i = 0; i < d->plt.n; i++) {
		const struct plt_slot *s = &d->plt.rows[i];
		const char *name = s->name ?: name_at(d, s->chooser, before);

		if (name)
			d->rows[d->n++] = (struct symtab_row){
				.start = s->start,
				.end = s->end,
				.name = name,
				.slot = true,
			};
	}
	return 0;
}

int
symtab_build(const struct elf_image *elf, const struct elf_image *debug,
             struct buf *out)
{
	CLEANUP(draft_done) struct draft d = {0};
	int r = add_tables(&d, elf, debug), slots;

	if (r == -ENOMEM)
		return r;
	if (d.n)
		qsort(d.rows, d.n, sizeof(*d.rows), by_start);
	keep_best(&d);
	drop_inner_labels(&d);
	slots = add_slots(&d, elf);
	if (slots == -ENOMEM)
		return slots;
	if (!d.n)
		return r ? r : -ENODATA;
	qsort(d.rows, d.n, sizeof(*d.rows), by_start);
	keep_best(&d);
	return symtab_write(d.rows, d.n, out);
}
