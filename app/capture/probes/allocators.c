#include "allocators.h"

#include "capture/elf/plt.h"
#include "capture/unwind/code.h"
#include "probe_place.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_FUNCTION ((size_t)64 << 10)
#define NONE         UINT8_MAX

#define RETURNS false
#define THROWS  true

static const struct row {
	const char *name;
	uint8_t arguments, size, count, old, to;
	bool throws, releases;
	uint32_t collected; /* bit of enum quality_hidden, or 0 */
} rows[] = {
#define ALLOCATOR(name, arguments, size, count, old, to, throws) \
	{name, arguments, size, count, old, to, throws, false, 0},
#define RELEASE(name) {name, 1, 0, NONE, NONE, NONE, false, true, 0},
#define COLLECTED(name, arguments, size, of) \
	{name,    arguments, size,           \
	 NONE,    NONE,      NONE,           \
	 RETURNS, false,     UINT32_C(1) << QUALITY_HIDDEN_##of},
#include "allocators.def"
#undef ALLOCATOR
#undef RELEASE
#undef COLLECTED
};

static const char *const families[] = {
#define FAMILY(prefix) prefix,
#include "allocators.def"
#undef FAMILY
};

static const struct {
	const char *function;
	enum quality_hidden of;
} hidden[] = {
#define HIDDEN(function, of) {function, QUALITY_HIDDEN_##of},
#include "allocators.def"
#undef HIDDEN
};

static const char *const texts[] = {
#define NAMELESS(text) text,
#include "allocators.def"
#undef NAMELESS
};
#define MAX_TEXT  64
#define TEXT_STEP ((size_t)1 << 20)  /* bytes searched at once, */
#define MAX_TEXTS ((size_t)64 << 20) /* and in total */

#define FAMILIES ARRAY_LEN(families)

/* Functions as their symbols describe them, by family and row. */
struct found {
	Elf64_Sym rows[FAMILIES][ARRAY_LEN(rows)];
	bool frees[FAMILIES];
	Elf64_Sym php_heap; /* function that returns PHP's heap */
	uint32_t hidden;
	struct plt plt;
};

static void
found_done(struct found *f)
{
	plt_done(&f->plt);
}

/* Parts of a function that the compiler has split have a dot in their names. */
static bool
is_of(const struct row *row, const char *name)
{
	return row->collected ? !strncmp(name, row->name, strlen(row->name)) &&
	                                !strchr(name, '.')
	                      : !strcmp(name, row->name);
}

static void
note(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct found *f = arg;

	if (sym->st_shndx == SHN_UNDEF || !sym->st_size ||
	    ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return;
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (!strcmp(name, hidden[i].function))
			f->hidden |= UINT32_C(1) << hidden[i].of;
	if (!strcmp(name, "zend_mm_get_heap"))
		f->php_heap = *sym;
	for (size_t i = 0; i < FAMILIES; i++) {
		size_t n = strlen(families[i]);
		const char *rest = name + n;

		if (strncmp(name, families[i], n) != 0)
			continue;
		f->frees[i] |= !strcmp(rest, "free");
		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (is_of(&rows[r], rest))
				f->rows[i][r] = *sym;
	}
}

/* A table past its limit is treated as missing: the other one may be
 * smaller. */
static int
symbols_of(const struct elf_image *e, uint32_t table, struct found *f)
{
	int rc = elf_symbols(e, table, note, f);

	return rc == -ENOENT || rc == -E2BIG ? 0 : rc;
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

/* Finds the function of this file that a name in a linkage table refers to. */
static const Elf64_Sym *
find_named(const struct found *f, const char *name)
{
	for (size_t i = 0; i < FAMILIES; i++)
		for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
			size_t n = strlen(families[i]);

			if (f->rows[i][r].st_size &&
			    !strncmp(name, families[i], n) &&
			    !strcmp(name + n, rows[r].name))
				return &f->rows[i][r];
		}
	return NULL;
}

/* Returns where a jump to an address leads, possibly through a linkage
 * table. */
static uint64_t
target_of(const struct found *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->plt.n; i++) {
		const struct plt_slot *slot = &f->plt.rows[i];
		const Elf64_Sym *sym;

		if (vaddr < slot->start || vaddr >= slot->end || !slot->name)
			continue;
		sym = find_named(f, slot->name);
		return sym ? sym->st_value : vaddr;
	}
	return vaddr;
}

/* Returns the row of the function that begins at vaddr, of those that release
 * memory, or of the others; NULL if there is none. */
static const struct row *
row_at(const struct found *f, bool releases, uint64_t vaddr)
{
	for (size_t i = 0; i < FAMILIES; i++)
		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (rows[r].releases == releases &&
			    f->rows[i][r].st_size &&
			    f->rows[i][r].st_value == vaddr)
				return &rows[r];
	return NULL;
}

/* Which calls of a function continue in another one, whose probe sees them. */
enum hand { KEEPS, HANDS_SOME, HANDS_ALL };

/*
 * Finds out which calls a function passes on to another one by a jump. It
 * passes on all if it adds an argument, as valloc(3) does; if it can't have
 * called a function that allocates and returned; or if both replace memory, as
 * in reallocarray(3). It passes on some if only it replaces memory: without
 * old memory, glibc's realloc(3) continues in malloc(3). Else it keeps them.
 */
static enum hand
hands_on(const struct found *f, const struct row *row, const uint8_t *code,
         size_t n, uint64_t start)
{
	bool calls = false, returns = false;
	const struct row *to_row = NULL;
	struct code_insn insn;

	for (size_t i = 0; i < n; i += insn.length) {
		uint64_t to;
		const struct row *other;

		if (!code_x86_64(code + i, n - i, &insn))
			break;
		calls |= insn.flow == CODE_CALL;
		returns |= insn.flow == CODE_RETURN;
		to = start + i + insn.length + (uint64_t)insn.target;
		if (!insn.has_target || insn.flow == CODE_CALL ||
		    (to >= start && to < start + n))
			continue;
		other = row_at(f, row->releases, target_of(f, to));
		if (other && (!to_row || to_row->old == NONE))
			to_row = other;
	}
	if (!to_row)
		return KEEPS;
	if (row->old != NONE)
		return to_row->old != NONE ? HANDS_ALL : HANDS_SOME;
	return calls && returns && row->arguments >= to_row->arguments
	               ? KEEPS
	               : HANDS_ALL;
}

static int
find_place(const struct elf_image *e, const Elf64_Sym *sym,
           const struct row *row, uint64_t *offset, struct probe_place *out,
           const struct found *f, enum hand *hand)
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
	*hand = hands_on(f, row, code, sym->st_size, sym->st_value);
	if (*hand == HANDS_ALL)
		return 0;
	return probe_place(code, sym->st_size, row->arguments, out);
}

/* Notes the name of a function that cannot be watched, if there is room. */
static void
note_unwatched(struct allocator *a, size_t family, const struct row *row)
{
	size_t n = strlen(a->unwatched), left = sizeof(a->unwatched) - n;
	int more = snprintf(a->unwatched + n, left, "%s%s%s", n ? ", " : "",
	                    families[family], row->name);

	if (more < 0 || (size_t)more >= left)
		a->unwatched[n] = '\0';
	a->unreleased |= row->releases;
}

/* Adds a function, unless it continues in another one. */
static void
add(const struct elf_image *e, const struct found *f, size_t family,
    const struct row *row, struct allocator *a)
{
	const Elf64_Sym *sym = &f->rows[family][row - rows];
	struct probe_place place;
	uint64_t offset;
	enum hand hand = KEEPS;

	if (is_known(a, sym->st_value))
		return;
	if (a->n == ALLOCS_MAX_PLACES ||
	    find_place(e, sym, row, &offset, &place, f, &hand)) {
		note_unwatched(a, family, row);
		return;
	}
	if (hand == HANDS_ALL)
		return;
	a->places[a->n] = (struct allocs_place){
		.offset = offset + place.at,
		.size = place.regs[row->size],
		.has_count = row->count != NONE,
		.count = row->count != NONE ? place.regs[row->count] : 0,
		.has_unless = hand == HANDS_SOME,
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
	a->collected |= row->collected;
	a->unreleased |= row->collected != 0;
}

static bool
has_text(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (memmem(p, n, texts[i], strlen(texts[i])))
			return true;
	return false;
}

/* True for a stripped file with the texts of an allocator. */
static bool
is_nameless(const struct elf_image *e)
{
	const struct elf_section *s = elf_section(e, ".rodata");

	if (!s || elf_section_typed(e, SHT_SYMTAB))
		return false;
	for (uint64_t at = 0; at < s->size && at < MAX_TEXTS; at += TEXT_STEP) {
		CLEANUP_FREE void *p = NULL;
		size_t n = TEXT_STEP + MAX_TEXT;

		if (n > s->size - at)
			n = s->size - at;
		if (elf_copy(e, s->offset + at, n, n, &p))
			return false;
		if (has_text(p, n))
			return true;
	}
	return false;
}

/* Returns where a function reads the pointer that it returns, with
 * mov by(%rip), %rax; ret; 0 if it does anything else. */
static uint64_t
read_by(const struct elf_image *e, const Elf64_Sym *sym)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa},
			     mov[] = {0x48, 0x8b, 0x05}, ret = 0xc3;
	const size_t length = sizeof(mov) + 4;
	CLEANUP_FREE void *p = NULL;
	const uint8_t *code;
	uint64_t offset, left, at = sym->st_value;
	int32_t by;

	if (!sym->st_size || !elf_offset_of(e, at, &offset, &left) ||
	    elf_copy(e, offset, sizeof(endbr64) + length + 1, left, &p))
		return 0;
	code = p;
	if (!memcmp(code, endbr64, sizeof(endbr64))) {
		code += sizeof(endbr64);
		at += sizeof(endbr64);
	}
	if (memcmp(code, mov, sizeof(mov)) != 0 || code[length] != ret)
		return 0;
	memcpy(&by, code + sizeof(mov), sizeof(by));
	return at + length + (uint64_t)(int64_t)by;
}

int
allocator_find(const struct elf_image *e, struct allocator *out)
{
	CLEANUP(found_done) struct found f = {.frees = {false}};
	struct allocator a = {0};
	int rc = e->machine == EM_X86_64 ? 0 : -ENOENT;

	if (!rc)
		rc = symbols_of(e, SHT_DYNSYM, &f);
	if (!rc)
		rc = symbols_of(e, SHT_SYMTAB, &f);
	/* Without the PLT, a function that only jumps may count twice. */
	if (!rc && plt_read(e, &f.plt) == -ENOMEM)
		rc = -ENOMEM;
	for (size_t i = 0; i < FAMILIES && !rc; i++) {
		bool is_whole = f.frees[i] && f.rows[i][0].st_size;

		for (size_t r = 0; r < ARRAY_LEN(rows); r++)
			if (f.rows[i][r].st_size &&
			    (is_whole || rows[r].collected))
				add(e, &f, i, &rows[r], &a);
	}
	a.hidden = f.hidden;
	a.php_heap = rc ? 0 : read_by(e, &f.php_heap);
	/* Python 3.13 contains mimalloc, but uses it only without the GIL. */
	if (!rc && !a.n && !*a.unwatched &&
	    !(f.hidden & UINT32_C(1) << QUALITY_HIDDEN_PYTHON) &&
	    is_nameless(e))
		a.hidden |= ALLOCATOR_NAMELESS;
	if (!rc && !a.n && !*a.unwatched && !a.hidden)
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
