/*
 * Slots of procedure linkage tables, in images made for them. What linkers make
 * is compared with objdump: tests/unit/plt.sh.
 */
#include "capture/elf/plt.h"

#include "lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define PLT   UINT64_C(0x401000)
#define GOT   UINT64_C(0x403000) /* slots, 8 bytes each */
#define SIZE  128
#define MAX   4
#define NAMES "\0puts\0exit\0" /* symbols 1 and 2; symbol 3 has no name */

struct image {
	Elf64_Ehdr head;
	Elf64_Shdr sections[6];
	Elf64_Sym symbols[MAX];
	Elf64_Rela relocs[MAX];
	char names[sizeof(NAMES)], section_names[32];
	uint8_t code[SIZE];
};

struct reloc {
	uint64_t got;
	uint32_t type, symbol;
	int64_t addend;
};

struct slot {
	uint64_t start, end;
	const char *name;
	uint64_t chooser;
};

struct plt_case {
	const char *what, *section;
	uint16_t machine;
	uint64_t entsize;
	const char *code;
	size_t n;
	struct reloc relocs[MAX];
	struct slot want[MAX];
};

#define MEMBER(type, flags, member)                            \
	(Elf64_Shdr)                                           \
	{                                                      \
		.sh_type = type, .sh_flags = flags,            \
		.sh_offset = offsetof(struct image, member),   \
		.sh_size = sizeof(((struct image *)0)->member) \
	}

static void
make(const struct plt_case *c, struct image *m)
{
	size_t name = 1;

	memset(m, 0, sizeof(*m));
	memcpy(m->head.e_ident, ELFMAG "\2\1\1", 7);
	m->head.e_machine = c->machine;
	m->head.e_shoff = offsetof(struct image, sections);
	m->head.e_shnum = ARRAY_LEN(m->sections);
	m->head.e_shentsize = sizeof(m->sections[0]);
	m->head.e_shstrndx = 5;
	m->sections[1] = MEMBER(SHT_DYNSYM, SHF_ALLOC, symbols);
	m->sections[1].sh_link = 2;
	m->sections[2] = MEMBER(SHT_STRTAB, SHF_ALLOC, names);
	m->sections[3] = MEMBER(SHT_RELA, SHF_ALLOC, relocs);
	m->sections[3].sh_link = 1;
	m->sections[4] = MEMBER(SHT_PROGBITS, SHF_ALLOC, code);
	m->sections[4].sh_addr = PLT;
	m->sections[4].sh_size = c->n;
	m->sections[4].sh_entsize = c->entsize;
	m->sections[4].sh_name = 1;
	m->sections[5] = MEMBER(SHT_STRTAB, 0, section_names);
	strcpy(m->section_names + 1, c->section);
	memcpy(m->names, NAMES, sizeof(NAMES));
	for (size_t i = 1; i < 3; i++) {
		m->symbols[i].st_name = (uint32_t)name;
		name += strlen(m->names + name) + 1;
	}
	for (size_t i = 0; i < MAX; i++)
		m->relocs[i] = (Elf64_Rela){
			c->relocs[i].got,
			ELF64_R_INFO(c->relocs[i].symbol, c->relocs[i].type),
			c->relocs[i].addend};
	memcpy(m->code, c->code, c->n);
}

static void
check(const struct plt_case *c)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	struct plt p = {0};
	struct image m;
	size_t n = 0;
	int rc;

	make(c, &m);
	ck_assert_int_eq(elf_open_memory(&m, sizeof(m), &e), 0);
	while (n < MAX && c->want[n].end)
		n++;
	rc = plt_read(e, &p);
	ck_assert_msg(rc == (n ? 0 : -ENODATA), "%s: %d", c->what, rc);
	ck_assert_msg(p.n == n, "%s: %zu slots", c->what, p.n);
	for (size_t i = 0; i < n; i++) {
		const struct slot *want = &c->want[i];

		ck_assert_msg(p.rows[i].start == PLT + want->start &&
		                      p.rows[i].end == PLT + want->end &&
		                      p.rows[i].chooser == want->chooser,
		              "%s: slot %zu", c->what, i);
		ck_assert_msg(
			want->name ? p.rows[i].name &&
					     !strcmp(p.rows[i].name, want->name)
				   : !p.rows[i].name,
			"%s: name of slot %zu", c->what, i);
	}
	plt_done(&p);
}

/* --- x86-64 --------------------------------------------------------------- */

/* jmp *D(%rip), whose end is at END of the section, to slot 0 or 1 of GOT. */
#define JUMP(d) "\xff\x25" d
#define PUSH    "\x68\0\0\0\0\xe9\0\0\0\0"
#define NOPS    "\x66\x90"
#define ENDBR   "\xf3\x0f\x1e\xfa"
#define TO_PUTS                                       \
	{                                             \
		{                                     \
			GOT, R_X86_64_JUMP_SLOT, 1, 0 \
		}                                     \
	}
#define BOTH                                             \
	{                                                \
		{GOT, R_X86_64_JUMP_SLOT, 1, 0},         \
		{                                        \
			GOT + 8, R_X86_64_GLOB_DAT, 2, 0 \
		}                                        \
	}

static const struct plt_case intel[] = {
	{"a slot of a lazy table, behind the first",
         ".plt",
         EM_X86_64,
         16,
         "\xff\x35\0\0\0\0" JUMP("\0\0\0\0") "\x0f\x1f\x40\0" //
         JUMP("\xea\x1f\0\0") PUSH,
         32,
         TO_PUTS,
         {{16, 32, "puts", 0}}},
	{"slots that begin with a mark for branches",
         ".plt.sec",
         EM_X86_64,
         16,
         ENDBR JUMP("\xf6\x1f\0\0") NOPS NOPS NOPS //
                 ENDBR JUMP("\xee\x1f\0\0") NOPS NOPS NOPS,
         32,
         BOTH,
         {{0, 16, "puts", 0}, {16, 32, "exit", 0}}},
	{"slots of 8 bytes",
         ".plt.got",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS JUMP("\xfa\x1f\0\0") NOPS,
         16,
         BOTH,
         {{0, 8, "puts", 0}, {8, 16, "exit", 0}}},
	{"slots of 8 bytes behind other code",
         ".plt.got",
         EM_X86_64,
         8,
         NOPS NOPS NOPS NOPS JUMP("\xf2\x1f\0\0") NOPS //
                 JUMP("\xf2\x1f\0\0") NOPS,
         24,
         BOTH,
         {{8, 16, "puts", 0}, {16, 24, "exit", 0}}},
	{"a slot of 16 bytes that jumps twice",
         ".plt",
         EM_X86_64,
         16,
         JUMP("\xfa\x1f\0\0") NOPS JUMP("\xfa\x1f\0\0") NOPS,
         16,
         BOTH,
         {{0, 16, "puts", 0}}},
	{"two slots whose size no header has",
         ".plt",
         EM_X86_64,
         0,
         JUMP("\xfa\x1f\0\0") NOPS JUMP("\xfa\x1f\0\0") NOPS,
         16,
         BOTH,
         {{0, 8, "puts", 0}, {8, 16, "exit", 0}}},
	{"one slot of 8 bytes without its size",
         ".plt.got",
         EM_X86_64,
         0,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         TO_PUTS,
         {{0, 8, "puts", 0}}},
	{"one slot of 16 bytes without its size",
         ".plt",
         EM_X86_64,
         0,
         JUMP("\xfa\x1f\0\0") PUSH,
         16,
         TO_PUTS,
         {{0, 16, "puts", 0}}},
	{"a slot of 16 bytes with a second jump in its middle",
         ".plt",
         EM_X86_64,
         0,
         ENDBR "\x90\x90\x90\x90" JUMP("\xf2\x1f\0\0") NOPS,
         16,
         TO_PUTS,
         {{0, 16, "puts", 0}}},
	{"a jump that ends its slot",
         ".plt",
         EM_X86_64,
         16,
         PUSH JUMP("\xf0\x1f\0\0"),
         16,
         TO_PUTS,
         {{0, 16, "puts", 0}}},
	{"a jump that is cut off",
         ".plt",
         EM_X86_64,
         16,
         PUSH "\x90" JUMP("\xef\x1f\0"),
         16,
         TO_PUTS,
         {{0}}},
	{"half a slot",
         ".plt",
         EM_X86_64,
         16,
         JUMP("\xfa\x1f\0\0") NOPS "\x90",
         9,
         TO_PUTS,
         {{0}}},
	{"a slot of the table below the code",
         ".plt.got",
         EM_X86_64,
         8,
         JUMP("\xf2\xff\xff\xff") NOPS,
         8,
         {{PLT - 8, R_X86_64_GLOB_DAT, 2, 0}},
         {{0, 8, "exit", 0}}},
	{"a function that is chosen",
         ".plt",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         {{GOT, R_X86_64_IRELATIVE, 0, 0x5000}},
         {{0, 8, NULL, 0x5000}}},
	{"the relocation of another kind",
         ".plt",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         {{GOT, R_X86_64_64, 1, 0}},
         {{0}}},
	{"a relocation of the other machine",
         ".plt",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         {{GOT, R_AARCH64_JUMP_SLOT, 1, 0}},
         {{0}}},
	{"a relocation without a symbol",
         ".plt",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         {{GOT, R_X86_64_JUMP_SLOT, 99, 0}},
         {{0}}},
	{"a symbol without a name",
         ".plt",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         {{GOT, R_X86_64_JUMP_SLOT, 3, 0}},
         {{0}}},
	{"a section of another name",
         ".plt.",
         EM_X86_64,
         8,
         JUMP("\xfa\x1f\0\0") NOPS,
         8,
         TO_PUTS,
         {{0}}},
	{"an empty section", ".plt", EM_X86_64, 16, "", 0, TO_PUTS, {{0}}},
};

TEST(slots_of_x86_64_are_found_by_their_jump)
{
	for (size_t i = 0; i < ARRAY_LEN(intel); i++)
		check(&intel[i]);
}
END

/* --- aarch64 -------------------------------------------------------------- */

#define ADRP "\x10\0\0\xd0"     /* adrp x16, 2 pages on */
#define BACK "\xf0\xff\xff\xf0" /* adrp x16, the page before */
#define LDR  "\x11\x02\x40\xf9" /* ldr x17, [x16] */
#define LDR8 "\x11\x06\x40\xf9" /* ldr x17, [x16, #8] */
#define ADD  "\x10\x02\0\x91"   /* add x16, x16, #0 */
#define AUTH "\x9f\x21\x03\xd5" /* autia1716 */
#define BR   "\x20\x02\x1f\xd6" /* br x17 */
#define BTI  "\x5f\x24\x03\xd5"
#define NOP  "\x1f\x20\x03\xd5"
#define HERE                                           \
	{                                              \
		{                                      \
			GOT, R_AARCH64_JUMP_SLOT, 1, 0 \
		}                                      \
	}
#define THERE                                             \
	{                                                 \
		{GOT, R_AARCH64_JUMP_SLOT, 1, 0},         \
		{                                         \
			GOT + 8, R_AARCH64_GLOB_DAT, 2, 0 \
		}                                         \
	}
#define WORDS(n) ((n)*4)

static const struct plt_case arm[] = {
	{"two slots",
         ".plt",
         EM_AARCH64,
         16,
         ADRP LDR ADD BR ADRP LDR8 ADD BR,
         WORDS(8),
         THERE,
         {{0, 16, "puts", 0}, {16, 32, "exit", 0}}},
	{"slots with a mark for branches, which nops fill up",
         ".plt",
         EM_AARCH64,
         0,
         BTI ADRP LDR ADD BR NOP BTI ADRP LDR8 ADD BR NOP,
         WORDS(12),
         THERE,
         {{0, 24, "puts", 0}, {24, 48, "exit", 0}}},
	{"a slot that checks the address",
         ".plt",
         EM_AARCH64,
         0,
         ADRP LDR ADD AUTH BR NOP,
         WORDS(6),
         HERE,
         {{0, 24, "puts", 0}}},
	{"a slot behind other code",
         ".plt",
         EM_AARCH64,
         0,
         ADD ADRP LDR ADD BR ADD,
         WORDS(6),
         HERE,
         {{4, 20, "puts", 0}}},
	{"a slot of the table below the code",
         ".plt",
         EM_AARCH64,
         0,
         BACK LDR ADD BR,
         WORDS(4),
         {{PLT - 0x1000, R_AARCH64_JUMP_SLOT, 1, 0}},
         {{0, 16, "puts", 0}}},
	{"the longest slot",
         ".plt",
         EM_AARCH64,
         0,
         ADRP LDR ADD NOP NOP NOP NOP BR,
         WORDS(8),
         HERE,
         {{0, 32, "puts", 0}}},
	{"code that branches too late",
         ".plt",
         EM_AARCH64,
         0,
         ADRP LDR ADD NOP NOP NOP NOP NOP BR,
         WORDS(9),
         HERE,
         {{0}}},
	{"code that branches nowhere",
         ".plt",
         EM_AARCH64,
         0,
         ADRP LDR ADD NOP,
         WORDS(4),
         HERE,
         {{0}}},
	{"an address that is not loaded",
         ".plt",
         EM_AARCH64,
         0,
         ADRP ADD ADD BR,
         WORDS(4),
         HERE,
         {{0}}},
	{"a load without its page",
         ".plt",
         EM_AARCH64,
         0,
         ADD LDR ADD BR,
         WORDS(4),
         HERE,
         {{0}}},
	{"an instruction alone",
         ".plt",
         EM_AARCH64,
         0,
         ADRP,
         WORDS(1),
         HERE,
         {{0}}},
	{"a function that is chosen",
         ".plt",
         EM_AARCH64,
         0,
         ADRP LDR ADD BR,
         WORDS(4),
         {{GOT, R_AARCH64_IRELATIVE, 0, 0x5000}},
         {{0, 16, NULL, 0x5000}}},
};

TEST(slots_of_aarch64_are_found_by_how_they_load_the_address)
{
	for (size_t i = 0; i < ARRAY_LEN(arm); i++)
		check(&arm[i]);
}
END

/* Changes after which an image with one good slot has none. */
static void
without_symbols(struct image *m)
{
	m->sections[1].sh_type = SHT_NULL;
}

static void
with_a_bad_link(struct image *m)
{
	m->sections[1].sh_link = ARRAY_LEN(m->sections);
}

static void
of_other_symbols(struct image *m)
{
	m->sections[3].sh_link = 2;
}

static void
not_loaded(struct image *m)
{
	m->sections[3].sh_flags = 0;
}

static void
without_code(struct image *m)
{
	m->sections[4].sh_offset = sizeof(*m);
}

static void
without_names(struct image *m)
{
	m->sections[2].sh_offset = sizeof(*m);
}

static void
without_relocations(struct image *m)
{
	m->sections[3].sh_offset = sizeof(*m);
}

TEST(a_slot_without_what_names_it_is_none)
{
	static const struct {
		void (*spoil)(struct image *m);
		int want;
	} rows[] = {
		{without_symbols, -ENODATA},  {with_a_bad_link, -ENODATA},
		{of_other_symbols, -ENODATA}, {not_loaded, -ENODATA},
		{without_code, -EIO},         {without_names, -EIO},
		{without_relocations, -EIO},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_ELF struct elf_image *e = NULL;
		struct image m;
		struct plt p;

		make(&intel[2], &m);
		rows[i].spoil(&m);
		ck_assert_int_eq(elf_open_memory(&m, sizeof(m), &e), 0);
		ck_assert_msg(plt_read(e, &p) == rows[i].want, "%zu", i);
	}
}
END

SUITE("plt");
