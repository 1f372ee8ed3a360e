#include "plt.h"

#include "base/rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECTION ((size_t)64 << 20) /* bytes of slots */
#define MAX_SYMBOLS ((size_t)64 << 20)
#define MAX_NAMES   ((size_t)256 << 20)
#define MAX_RELOCS  ((uint64_t)256 << 20) /* bytes in total */
#define RELOCS_STEP 1024                  /* relocations read at once */

/* The symbol whose address a slot of the global offset table holds. */
struct holder {
	uint64_t got; /* vaddr */
	const char *name;
	uint64_t chooser;
};

struct reader {
	const struct elf_image *e;
	struct holder *holders;
	uint32_t nholders, holders_cap;
	struct plt_slot *slots;
	uint32_t nslots, slots_cap;
	uint64_t relocs_left; /* bytes */
	/* Section of the symbols that relocations refer to. */
	uint32_t link;
	Elf64_Sym *symbols;
	size_t nsymbols, names_size;
	char *names;
};

static void
reader_done(struct reader *r)
{
	free(r->holders);
	free(r->slots);
	free(r->symbols);
	free(r->names);
}

void
plt_done(struct plt *p)
{
	free(p->rows);
	free(p->names);
	*p = (struct plt){0};
}

/* --- the global offset table ---------------------------------------------- */

static int
add_holder(struct reader *r, struct holder h)
{
	int rc = ROWS_ROOM_OF(r->holders, r->holders_cap, r->nholders, 1,
	                      PLT_MAX_SLOTS);

	if (!rc)
		r->holders[r->nholders++] = h;
	return rc;
}

static bool
names_function(const struct elf_image *e, uint64_t type)
{
	return e->machine == EM_AARCH64 ? type == R_AARCH64_JUMP_SLOT ||
	                                          type == R_AARCH64_GLOB_DAT
	                                : type == R_X86_64_JUMP_SLOT ||
	                                          type == R_X86_64_GLOB_DAT;
}

/* True for relocations for which the loader calls a function that chooses
 * another one to suit the CPU. */
static bool
chooses_function(const struct elf_image *e, uint64_t type)
{
	return type == (e->machine == EM_AARCH64 ? R_AARCH64_IRELATIVE
	                                         : R_X86_64_IRELATIVE);
}

static int
take_reloc(struct reader *r, const Elf64_Rela *rel, bool named)
{
	const uint64_t type = ELF64_R_TYPE(rel->r_info);
	const uint64_t at = ELF64_R_SYM(rel->r_info);
	struct holder h = {.got = rel->r_offset};

	if (chooses_function(r->e, type))
		h.chooser = (uint64_t)rel->r_addend;
	else if (named && names_function(r->e, type) && at < r->nsymbols &&
	         r->symbols[at].st_name < r->names_size)
		h.name = r->names + r->symbols[at].st_name;
	return h.chooser || (h.name && *h.name) ? add_holder(r, h) : 0;
}

static int
read_relocs(struct reader *r, const struct elf_section *s)
{
	Elf64_Rela step[RELOCS_STEP];
	uint64_t size = s->size < r->relocs_left ? s->size : r->relocs_left;
	int rc = 0;

	r->relocs_left -= size;
	size -= size % sizeof(*step);
	for (uint64_t at = 0, n; at < size && !rc; at += n) {
		n = size - at < sizeof(step) ? size - at : sizeof(step);
		rc = elf_read(r->e, s->offset + at, step, n);
		for (size_t i = 0; i < n / sizeof(*step) && !rc; i++)
			rc = take_reloc(r, &step[i], s->link == r->link);
	}
	return rc;
}

/* Reads the table of symbols that all relocations with names use. */
static int
read_symbols(struct reader *r)
{
	const struct elf_section *s = elf_section_typed(r->e, SHT_DYNSYM);
	const struct elf_section *names;
	void *p = NULL;
	int rc;

	if (!s || s->link >= r->e->nsections)
		return 0;
	names = &r->e->sections[s->link];
	rc = elf_copy(r->e, s->offset, s->size, MAX_SYMBOLS, &p);
	if (rc)
		return rc;
	r->link = (uint32_t)(s - r->e->sections);
	r->symbols = p;
	r->nsymbols = s->size / sizeof(Elf64_Sym);
	rc = elf_copy(r->e, names->offset, names->size, MAX_NAMES, &p);
	if (rc)
		return rc;
	r->names = p;
	r->names_size = names->size;
	return 0;
}

static int
by_got(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return (x->got > y->got) - (x->got < y->got);
}

static int
read_holders(struct reader *r)
{
	int rc = read_symbols(r);

	for (uint32_t i = 0; i < r->e->nsections && !rc; i++) {
		const struct elf_section *s = &r->e->sections[i];

		if (s->type == SHT_RELA && s->flags & SHF_ALLOC)
			rc = read_relocs(r, s);
	}
	if (r->nholders)
		qsort(r->holders, r->nholders, sizeof(*r->holders), by_got);
	return rc;
}

/* --- slots ---------------------------------------------------------------- */

static int
add_slot(struct reader *r, uint64_t got, uint64_t start, uint64_t end)
{
	const struct holder key = {.got = got}, *h;
	int rc;

	h = r->nholders ? bsearch(&key, r->holders, r->nholders, sizeof(key),
	                          by_got)
	                : NULL;
	if (!h)
		return 0;
	rc = ROWS_ROOM_OF(r->slots, r->slots_cap, r->nslots, 1, PLT_MAX_SLOTS);
	if (!rc)
		r->slots[r->nslots++] =
			(struct plt_slot){start, end, h->name, h->chooser};
	return rc;
}

/* Decodes jmp *DISTANCE(%rip). */
static bool
is_jump(const uint8_t *code)
{
	return code[0] == 0xff && code[1] == 0x25;
}

/* Returns the size of a slot, which the section header of a static program
 * lacks. */
static size_t
slot_size(const struct elf_section *s, const uint8_t *code)
{
	if (s->entsize == 8 || s->entsize == 16)
		return s->entsize;
	return s->size == 8 || (s->size >= 16 && is_jump(code) &&
	                        is_jump(code + 8))
	               ? 8
	               : 16;
}

/* Searches each slot for its jump. The instructions around it depend on the
 * linker and its options. */
static int
find_x86_64(struct reader *r, const struct elf_section *s, const uint8_t *code)
{
	const size_t size = slot_size(s, code), jump = 6;
	int32_t distance;
	int rc = 0;

	for (size_t at = 0; at + size <= s->size && !rc; at += size)
		for (size_t i = at; i + jump <= at + size && !rc; i++) {
			if (!is_jump(code + i))
				continue;
			memcpy(&distance, code + i + 2, sizeof(distance));
			rc = add_slot(r,
			              s->vaddr + i + jump +
			                      (uint64_t)(int64_t)distance,
			              s->vaddr + at, s->vaddr + at + size);
			break;
		}
	return rc;
}

#define PAGE   4096
#define BTI_C  UINT32_C(0xd503245f)
#define NOP    UINT32_C(0xd503201f)
#define BR_X17 UINT32_C(0xd61f0220)
#define SLOT   8 /* most instructions in a slot */

/* Decodes adrp x16, PAGE; ldr x17, [x16, #OFFSET], which load the address. */
static bool
loads_address(const uint32_t code[2], uint64_t vaddr, uint64_t *got)
{
	uint64_t pages;

	if ((code[0] & 0x9f00001f) != 0x90000010 ||
	    (code[1] & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (code[0] >> 5 & 0x7ffff) << 2 | (code[0] >> 29 & 3);
	if (pages >> 20) /* two's complement */
		pages -= UINT64_C(1) << 21;
	*got = vaddr / PAGE * PAGE + pages * PAGE +
	       (uint64_t)(code[1] >> 10 & 0xfff) * 8;
	return true;
}

/* Reads a slot, which may begin with bti c, and ends with br x17 and nops. */
static int
find_aarch64(struct reader *r, const struct elf_section *s,
             const uint32_t *code)
{
	const size_t n = s->size / 4;
	uint64_t got;
	int rc = 0;

	for (size_t i = 0, first, end; i + 1 < n && !rc; i++) {
		if (!loads_address(code + i, s->vaddr + i * 4, &got))
			continue;
		first = i && code[i - 1] == BTI_C ? i - 1 : i;
		for (end = i; end < n && end < i + SLOT && code[end] != BR_X17;)
			end++;
		if (end == n || end == i + SLOT)
			continue;
		while (end + 1 < n && code[end + 1] == NOP)
			end++;
		rc = add_slot(r, got, s->vaddr + first * 4,
		              s->vaddr + (end + 1) * 4);
	}
	return rc;
}

static int
find_slots(struct reader *r, const char *name)
{
	const struct elf_section *s = elf_section(r->e, name);
	CLEANUP_FREE void *code = NULL;
	int rc;

	if (!s)
		return 0;
	rc = elf_copy(r->e, s->offset, s->size, MAX_SECTION, &code);
	if (rc)
		return rc;
	return r->e->machine == EM_AARCH64 ? find_aarch64(r, s, code)
	                                   : find_x86_64(r, s, code);
}

int
plt_read(const struct elf_image *e, struct plt *out)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	CLEANUP(reader_done)
	struct reader r = {.e = e, .relocs_left = MAX_RELOCS};
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		any |= elf_section(e, sections[i]) != NULL;
	if (any)
		rc = read_holders(&r);
	for (size_t i = 0; i < ARRAY_LEN(sections) && any && !rc; i++)
		rc = find_slots(&r, sections[i]);
	if (!rc && !r.nslots)
		rc = -ENODATA;
	if (rc)
		return rc;
	*out = (struct plt){TAKE(r.slots), r.nslots, TAKE(r.names)};
	return 0;
}
