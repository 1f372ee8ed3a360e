/* Symbols as assemblers and linkers leave them, in images made for them. */
#include "capture/symbols/symtab.h"
#include "capture/symbols/code_runs.h"
#include "capture/symbols/symbols.h"

#include "base/clock.h"
#include "lib/test.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#define TEXT  UINT64_C(0x1000) /* a section of code, then one of data */
#define DATA  UINT64_C(0x2000)
#define SIZE  0x100
#define MAX   8
#define NAMES 512

enum { IN_TEXT = 1, IN_DATA };

struct symbol_of {
	const char *name;
	uint64_t at, size;
	uint8_t bind, type, section;
};

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr load;
	Elf64_Shdr sections[6];
	Elf64_Sym symbols[MAX];
	char names[NAMES], section_names[64];
	uint8_t text[SIZE], data[SIZE];
};

static Elf64_Shdr
section(uint32_t type, uint64_t flags, uint64_t vaddr, size_t at, size_t size)
{
	return (Elf64_Shdr){.sh_type = type,
	                    .sh_flags = flags,
	                    .sh_addr = vaddr,
	                    .sh_offset = at,
	                    .sh_size = size};
}
#define SECTION(type, flags, vaddr, member)                         \
	section(type, flags, vaddr, offsetof(struct image, member), \
	        sizeof(((struct image *)0)->member))

static struct elf_image *
image_of(const struct symbol_of *rows, size_t n, const char *code, size_t size)
{
	static struct image m;
	struct elf_image *e = NULL;
	size_t at = 1;

	memset(&m, 0, sizeof(m));
	memcpy(m.head.e_ident, ELFMAG "\2\1\1", 7);
	m.head.e_machine = EM_X86_64;
	m.head.e_phoff = offsetof(struct image, load);
	m.head.e_phnum = 1;
	m.head.e_phentsize = sizeof(m.load);
	m.head.e_shoff = offsetof(struct image, sections);
	m.head.e_shnum = ARRAY_LEN(m.sections);
	m.head.e_shentsize = sizeof(m.sections[0]);
	m.head.e_shstrndx = 5;
	m.load = (Elf64_Phdr){.p_type = PT_LOAD,
	                      .p_flags = PF_X | PF_R,
	                      .p_offset = offsetof(struct image, text),
	                      .p_vaddr = TEXT,
	                      .p_filesz = SIZE,
	                      .p_memsz = SIZE};
	m.sections[IN_TEXT] =
		SECTION(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, text);
	m.sections[IN_DATA] = SECTION(SHT_PROGBITS, SHF_ALLOC, DATA, data);
	m.sections[3] = SECTION(SHT_SYMTAB, 0, 0, symbols);
	m.sections[3].sh_link = 4;
	m.sections[4] = SECTION(SHT_STRTAB, 0, 0, names);
	m.sections[5] = SECTION(SHT_STRTAB, 0, 0, section_names);
	for (size_t i = 0; i < n; i++) {
		m.symbols[i] = (Elf64_Sym){
			.st_name = (uint32_t)at,
			.st_info = ELF64_ST_INFO(rows[i].bind, rows[i].type),
			.st_shndx = rows[i].section,
			.st_value = rows[i].at,
			.st_size = rows[i].size,
		};
		strcpy(m.names + at, rows[i].name);
		at += strlen(rows[i].name) + 1;
	}
	memset(m.text, 0x90, sizeof(m.text));
	if (size)
		memcpy(m.text, code, size);
	ck_assert_int_eq(elf_open_memory(&m, sizeof(m), &e), 0);
	return e;
}

/* Returns the name of an address; "" if it has none. */
static const char *
name_in(const struct elf_image *e, uint64_t vaddr)
{
	static char out[64];
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f;

	*out = '\0';
	ck_assert_int_eq(symbolizer_add(s, 0, e, NULL), 0);
	if (symbolizer_lookup(s, 0, vaddr, &f, 1))
		snprintf(out, sizeof(out), "%s", f.name);
	return out;
}

TEST(of_several_names_people_see_the_best)
{
	static const struct {
		struct symbol_of a, b;
		const char *better;
	} rows[] = {
		{{"weak", TEXT, 8, STB_WEAK, STT_FUNC, IN_TEXT},
	         {"strong", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         "strong"},
		{{"weak", TEXT, 8, STB_WEAK, STT_FUNC, IN_TEXT},
	         {"local", TEXT, 8, STB_LOCAL, STT_FUNC, IN_TEXT},
	         "local"},
		{{"local", TEXT, 8, STB_LOCAL, STT_FUNC, IN_TEXT},
	         {"global", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         "global"},
		{{"open", TEXT, 0, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         {"sized", TEXT, 8, STB_WEAK, STT_FUNC, IN_TEXT},
	         "sized"},
		{{"label", TEXT, 0, STB_GLOBAL, STT_NOTYPE, IN_TEXT},
	         {"function", TEXT, 0, STB_LOCAL, STT_FUNC, IN_TEXT},
	         "function"},
		{{"__f", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         {"f", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         "f"},
		{{"f", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         {"f_once_more", TEXT, 8, STB_GLOBAL, STT_FUNC, IN_TEXT},
	         "f_once_more"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int swapped = 0; swapped < 2; swapped++) {
			const struct symbol_of pair[] = {
				swapped ? rows[i].b : rows[i].a,
				swapped ? rows[i].a : rows[i].b};
			CLEANUP_ELF struct elf_image *e =
				image_of(pair, 2, NULL, 0);

			ck_assert_str_eq(name_in(e, TEXT), rows[i].better);
		}
}
END

TEST(labels_in_code_are_functions_where_they_are_in_none)
{
	static const struct symbol_of rows[] = {
		{"sized", TEXT, 16, STB_GLOBAL, STT_FUNC, IN_TEXT},
		{"inside", TEXT + 8, 0, STB_GLOBAL, STT_NOTYPE, IN_TEXT},
		{"outside", TEXT + 32, 0, STB_LOCAL, STT_NOTYPE, IN_TEXT},
		{"outside.loop", TEXT + 40, 0, STB_LOCAL, STT_NOTYPE, IN_TEXT},
		{"$x", TEXT + 48, 0, STB_LOCAL, STT_NOTYPE, IN_TEXT},
		{"data", DATA, 0, STB_GLOBAL, STT_NOTYPE, IN_DATA},
		{"etext", TEXT + SIZE, 0, STB_GLOBAL, STT_NOTYPE, IN_TEXT},
	};
	CLEANUP_ELF struct elf_image *e =
		image_of(rows, ARRAY_LEN(rows), NULL, 0);

	ck_assert_str_eq(name_in(e, TEXT + 15), "sized");
	ck_assert_str_eq(name_in(e, TEXT + 16), "");
	ck_assert_str_eq(name_in(e, TEXT + 32), "outside");
	ck_assert_str_eq(name_in(e, TEXT + 48), "outside");
	ck_assert_str_eq(name_in(e, TEXT + SIZE - 1), "outside");
	ck_assert_str_eq(name_in(e, TEXT + SIZE), "");
	ck_assert_str_eq(name_in(e, DATA), "");
}
END

/* 0: dec %eax; 2: jg 0; 4: ret; 5: nop …; 16: je 21; 18: ret; 19: nop,
 * nop; 21: ret; 22: nop …; 32: jmp 16; 34: nop …; 48: ret */
static const char code[] = "\xff\xc8\x7f\xfc\xc3\x90\x90\x90\x90\x90"
			   "\x90\x90\x90\x90\x90\x90"
			   "\x74\x03\xc3\x90\x90\xc3\x90\x90\x90\x90"
			   "\x90\x90\x90\x90\x90\x90"
			   "\xeb\xee\x90\x90\x90\x90\x90\x90\x90\x90"
			   "\x90\x90\x90\x90\x90\x90"
			   "\xc3";
static const uint64_t begins[] = {0, 16, 32, 48};

static uint64_t
beginning(uint64_t by)
{
	uint64_t last = 0;

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (begins[i] <= by)
			last = begins[i];
	return last;
}

TEST(functions_begin_behind_what_returns_or_jumps_away)
{
	CLEANUP_ELF struct elf_image *e =
		image_of(NULL, 0, code, sizeof(code) - 1);
	struct code_runs *r = code_runs_new();

	for (uint64_t by = 0; by < sizeof(code) - 1; by++)
		ck_assert_uint_eq(
			code_runs_find(r, e,
		                       (struct code_gap){TEXT, TEXT + SIZE},
		                       TEXT + by),
			TEXT + beginning(by));
	code_runs_free(r);
}
END

TEST(a_jump_out_of_the_gap_ends_a_function_and_one_within_does_not)
{
	static const struct {
		uint8_t jump;
		uint64_t begin;         /* start of the returning function */
	} rows[] = {{45, 0}, {46, 16}}; /* to the last byte, past it */
	const struct code_gap gap = {TEXT, TEXT + 48};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char bytes[48]; /* 0: jmp; 2: nop …; 16: ret; 17: nop … */
		CLEANUP_ELF struct elf_image *e = NULL;
		struct code_runs *r = code_runs_new();

		memset(bytes, 0x90, sizeof(bytes));
		bytes[0] = (char)0xeb;
		bytes[1] = (char)rows[i].jump;
		bytes[16] = (char)0xc3;
		e = image_of(NULL, 0, bytes, sizeof(bytes));
		ck_assert_uint_eq(code_runs_find(r, e, gap, TEXT + 16),
		                  TEXT + rows[i].begin);
		code_runs_free(r);
	}
}
END

/* A symbol does not name code past the end of its function, even if no other
 * symbol lies between. */
TEST(a_symbol_without_a_size_holds_no_more_than_its_code)
{
	static const struct symbol_of rows[] = {
		{"first", TEXT, 0, STB_GLOBAL, STT_FUNC, IN_TEXT},
		{"third", TEXT + 32, 0, STB_GLOBAL, STT_NOTYPE, IN_TEXT},
	};
	CLEANUP_ELF struct elf_image *e =
		image_of(rows, ARRAY_LEN(rows), code, sizeof(code) - 1);

	ck_assert_str_eq(name_in(e, TEXT + 4), "first");
	ck_assert_str_eq(name_in(e, TEXT + 16), "");
	ck_assert_str_eq(name_in(e, TEXT + 21), "");
	ck_assert_str_eq(name_in(e, TEXT + 32), "third");
	ck_assert_str_eq(name_in(e, TEXT + 48), "");
}
END

TEST(code_between_symbols_has_a_beginning)
{
	static const struct symbol_of rows[] = {
		{"first", TEXT, 5, STB_GLOBAL, STT_FUNC, IN_TEXT},
		{"fourth", TEXT + 48, 1, STB_GLOBAL, STT_FUNC, IN_TEXT},
	};
	CLEANUP_ELF struct elf_image *e =
		image_of(rows, ARRAY_LEN(rows), code, sizeof(code) - 1);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	uint64_t start = 0;

	ck_assert_int_eq(symbolizer_add(s, 0, e, NULL), 0);
	for (uint64_t by = 16; by < 48; by++) {
		ck_assert(symbolizer_function(s, 0, TEXT + by, &start));
		ck_assert_uint_eq(start, TEXT + beginning(by));
	}
	ck_assert(symbolizer_function(s, 0, TEXT + 50, &start));
	ck_assert_uint_ge(start, TEXT + 49);
	ck_assert(!symbolizer_function(s, 0, DATA, &start));
	ck_assert(!symbolizer_function(s, 1, TEXT, &start));
}
END

/* As many as ClickHouse has, unsorted as the linker leaves them. */
#define MANY  600000
#define WIDTH 16 /* size of a name, and of a function */

TEST(many_functions_have_their_names_within_seconds_of_cpu_time)
{
	static struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[5];
		Elf64_Sym symbols[MANY];
		char names[MANY][WIDTH];
	} m;
	CLEANUP_ELF struct elf_image *e = NULL;
	const int64_t began_ns = clock_cpu_ns();
	char name[WIDTH];

	memcpy(m.head.e_ident, ELFMAG "\2\1\1", 7);
	m.head.e_machine = EM_X86_64;
	m.head.e_shoff = (uint64_t)((char *)m.sections - (char *)&m);
	m.head.e_shnum = ARRAY_LEN(m.sections);
	m.head.e_shentsize = sizeof(m.sections[0]);
	m.head.e_shstrndx = 4;
	m.sections[IN_TEXT] = section(SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR,
	                              TEXT, 0, sizeof(m.names));
	m.sections[2] = section(SHT_SYMTAB, 0, 0,
	                        (size_t)((char *)m.symbols - (char *)&m),
	                        sizeof(m.symbols));
	m.sections[2].sh_link = 3;
	m.sections[3] = section(SHT_STRTAB, 0, 0,
	                        (size_t)((char *)m.names - (char *)&m),
	                        sizeof(m.names));
	m.sections[4] = section(SHT_STRTAB, 0, 0, m.sections[3].sh_offset, 1);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(m.names[i], WIDTH, "function_%06u", i);
		m.symbols[i] = (Elf64_Sym){
			.st_name = i * WIDTH,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = IN_TEXT,
			.st_value = TEXT + i * UINT64_C(7919) % MANY * WIDTH,
			.st_size = WIDTH,
		};
	}
	ck_assert_int_eq(elf_open_memory(&m, sizeof(m), &e), 0);
	for (uint32_t i = 0; i < MANY; i += MANY / 3) {
		snprintf(name, sizeof(name), "function_%06u", i);
		ck_assert_str_eq(name_in(e, m.symbols[i].st_value + 1), name);
	}
	ck_assert_int_lt(clock_cpu_ns() - began_ns, 5 * NS_PER_S);
}
END

SUITE("symtab");
