#include "allocators.h"

#include "capture/unwind/code.h"
#include "probe_place.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_FUNCTION ((size_t)64 << 10)
#define NONE         UINT8_MAX

#define RETURNS false
#define THROWS  true

static const struct row {
	const char *name;
	uint8_t arguments, size, count, old, to;
	bool throws, releases;
} rows[] = {
#define ALLOCATOR(name, arguments, size, count, old, to, throws) \
	{name, arguments, size, count, old, to, throws, false},
#define RELEASE(name) {name, 1, 0, NONE, NONE, NONE, false, true},
#include "allocators.def"
#undef ALLOCATOR
#undef RELEASE
};

static const char *const families[] = {
#define FAMILY(prefix) prefix,
#include "allocators.def"
#undef FAMILY
};

#define FAMILIES ARRAY_LEN(families)

/* Functions as their symbols describe them, by family and row. */
struct found {
	Elf64_Sym rows[FAMILIES][ARRAY_LEN(rows)];
	bool frees[FAMILIES];
};

static void
note(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct found *f = arg;

	if (sym->st_shndx == SHN_UNDEF || !sym->st_size ||
	    ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return;
	for (size_t i = 0; i < FAMILIES; i++) {
		size_t n = strlen(families[i]);
		const char *rest = name + n;

		if (strncmp(name, families[i], n) != 0)
			continue;
		f->frees[i] |= !strcmp(rest, "free");
		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (!strcmp(rest, rows[r].name))
				f->rows[i][r] = *sym;
	}
}

static int
symbols_of(const struct elf_image *e, uint32_t table, struct found *f)
{
	int rc = elf_symbols(e, table, note, f);

	return rc == -ENOENT ? 0 : rc;
}

/* True when start has a probe already: the function has several names. */
static bool
is_known(const struct allocator *a, uint64_t start)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->functions[i].start == start)
			return true;
	return false;
}

/* True for the first address of a function that does the same as a row's. */
static bool
is_function(const struct found *f, bool releases, uint64_t vaddr)
{
	for (size_t i = 0; i < FAMILIES; i++)
		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (rows[r].releases == releases &&
			    f->rows[i][r].st_size &&
			    f->rows[i][r].st_value == vaddr)
				return true;
	return false;
}

/* True when another family has the function, too: a function that only jumps,
 * as through a table of the linker, continues there. */
static bool
has_another(const struct found *f, size_t row, uint64_t vaddr)
{
	for (size_t i = 0; i < FAMILIES; i++)
		if (f->rows[i][row].st_size &&
		    f->rows[i][row].st_value != vaddr)
			return true;
	return false;
}

/* True when a function jumps into another one: without old memory, realloc(3)
 * of glibc continues in malloc(3), whose probe sees the call. */
static bool
hands_on(const struct found *f, const uint8_t *code, size_t n, uint64_t start)
{
	struct code_insn insn;

	for (size_t i = 0; i < n; i += insn.length) {
		uint64_t to;

		if (!code_x86_64(code + i, n - i, &insn))
			return false;
		to = start + i + insn.length + (uint64_t)insn.target;
		if (insn.has_target && insn.flow != CODE_CALL && to != start &&
		    is_function(f, false, to))
			return true;
	}
	return false;
}

static int
find_place(const struct elf_image *e, const Elf64_Sym *sym,
           const struct row *row, uint64_t *offset, struct probe_place *out,
           const struct found *f, bool *hands)
{
	CLEANUP_FREE uint8_t *code = NULL;
	uint64_t left;
	void *p;
	int rc = elf_offset_of(e, sym->st_value, offset, &left) &&
	                         sym->st_size <= left
	                 ? 0
	                 : -EIO;

	if (!rc)
		rc = elf_copy(e, *offset, sym->st_size, MAX_FUNCTION, &p);
	if (rc)
		return rc;
	code = p;
	*hands = hands_on(f, code, sym->st_size, sym->st_value);
	return probe_place(code, sym->st_size, row->arguments, out);
}

/* Adds a function, unless it only calls another one. */
static void
add(const struct elf_image *e, const struct found *f, const Elf64_Sym *sym,
    const struct row *row, struct allocator *a)
{
	struct probe_place place;
	uint64_t offset;
	bool hands;

	if (is_known(a, sym->st_value))
		return;
	if (a->n == ALLOCS_MAX_PLACES) {
		a->unreleased |= row->releases;
		return;
	}
	if (find_place(e, sym, row, &offset, &place, f, &hands)) {
		a->unplaced++;
		a->unreleased |= row->releases;
		return;
	}
	if (place.passes_on &&
	    (is_function(f, row->releases,
	                 sym->st_value + (uint64_t)place.to) ||
	     has_another(f, (size_t)(row - rows), sym->st_value)))
		return;
	a->places[a->n] = (struct allocs_place){
		.offset = offset + place.at,
		.size = place.regs[row->size],
		.has_count = row->count != NONE,
		.count = row->count != NONE ? place.regs[row->count] : 0,
		.has_unless = row->old != NONE && hands,
		.has_old = row->old != NONE,
		.old = row->old != NONE ? place.regs[row->old] : 0,
		.has_to = row->to != NONE,
		.to = row->to != NONE ? place.regs[row->to] : 0,
		.releases = row->releases,
		.throws = row->throws,
		.moved = place.moved,
	};
	a->functions[a->n++] = (struct allocator_function){
		sym->st_value, sym->st_value + sym->st_size};
}

int
allocator_find(const struct elf_image *e, struct allocator *out)
{
	struct found f = {.frees = {false}};
	struct allocator a = {0};
	int rc = e->machine == EM_X86_64 ? 0 : -ENOENT;

	if (!rc)
		rc = symbols_of(e, SHT_DYNSYM, &f);
	if (!rc)
		rc = symbols_of(e, SHT_SYMTAB, &f);
	for (size_t i = 0; i < FAMILIES && !rc; i++) {
		if (!f.frees[i] || !f.rows[i][0].st_size)
			continue;
		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (f.rows[i][r].st_size)
				add(e, &f, &f.rows[i][r], &rows[r], &a);
	}
	if (!rc && !a.n && !a.unplaced)
		rc = -ENOENT;
	if (!rc)
		*out = a;
	return rc;
}

bool
allocator_has(const struct allocator *a, uint64_t vaddr)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (vaddr >= a->functions[i].start &&
		    vaddr < a->functions[i].end)
			return true;
	return false;
}
