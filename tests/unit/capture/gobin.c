/*
 * Go programs of four versions, cut to a few functions. tests/unit/gobin.sh
 * compares whole programs with Go's own tools.
 */
#include "capture/gobin/gobin.h"
#include "capture/gobin/go_code.h"
#include "capture/gobin/gobin_private.h"

#include "base/buf.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DATA  "tests/data/fuzz/gobin/"
#define ENTRY UINT64_C(0x400000) /* of the first function, runtime.main */

static const struct {
	const char *file, *version;
	unsigned minor, guess; /* guess: if no version is stated */
	uint64_t etext;
} programs[] = {
	{"go1.19", "go1.19.1", 19, 19, 0x400cc0},
	{"go1.22", "go1.22.1", 22, 24, 0x400d20},
	{"go1.25_pie", "go1.25.1", 25, 26, 0x400d60},
	{"go1.27_sections", "go1.27.1", 27, 27, 0x401200},
};
enum { GO19, GO22, GO25_PIE, GO27 };

static void
slurp(int program, struct buf *out)
{
	char path[128];
	CLEANUP_FD int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), DATA "%s", programs[program].file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	buf_clear(out);
	n = read(fd, buf_reserve(out, 1 << 16), 1 << 16);
	ck_assert_int_gt(n, 0);
	out->len = (size_t)n;
}

static int
open_bytes(const struct buf *bytes, struct elf_image **elf, struct gobin **out)
{
	ck_assert_int_eq(elf_open_memory(bytes->p, bytes->len, elf), 0);
	return gobin_open(*elf, out);
}

/* Opens each program in turn and calls fn. */
static void
each(void (*fn)(int program, struct gobin *g))
{
	for (int i = 0; i < (int)ARRAY_LEN(programs); i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 17);
		CLEANUP_ELF struct elf_image *elf = NULL;
		CLEANUP_GOBIN struct gobin *g = NULL;

		slurp(i, &bytes);
		ck_assert_int_eq(open_bytes(&bytes, &elf, &g), 0);
		fn(i, g);
	}
}

static void
check_about(int program, struct gobin *g)
{
	const struct gobin_about *a = gobin_about(g);

	ck_assert_str_eq(a->version, programs[program].version);
	ck_assert_uint_eq(a->minor, programs[program].minor);
	ck_assert_uint_eq(a->text, ENTRY);
	ck_assert_uint_eq(a->etext, programs[program].etext);
	ck_assert_uint_ne(a->gofunc, 0);
}

TEST(a_program_tells_its_version_with_and_without_sections)
{
	each(check_about);
}
END

TEST(the_version_of_a_program_without_one_is_guessed)
{
	for (int i = 0; i < (int)ARRAY_LEN(programs); i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 17);
		CLEANUP_ELF struct elf_image *elf = NULL;
		CLEANUP_GOBIN struct gobin *g = NULL;
		struct gobin_frame f;
		char *at;

		slurp(i, &bytes);
		at = memmem(bytes.p, bytes.len, "\xff Go buildinf:", 14);
		ck_assert_ptr_nonnull(at);
		at[3] = '?';
		ck_assert_int_eq(open_bytes(&bytes, &elf, &g), 0);
		ck_assert_str_eq(gobin_about(g)->version, "");
		ck_assert_uint_eq(gobin_about(g)->minor, programs[i].guess);
		ck_assert(gobin_frame(g, ENTRY + 0x40, &f));
	}
}
END

/* A function as gobin_frame() and the line table describe it at an address. */
static const struct {
	int program;
	uint64_t vaddr, entry;
	int32_t sp_delta;
	enum gobin_func func;
	const char *name;
	const char *place;
} functions[] = {
	{GO19, 0x400000, 0x400000, 0, GOBIN_RUNTIME_MAIN, "runtime.main",
         "runtime/proc.go:145"},
	{GO19, 0x400338, 0x400000, 0, GOBIN_RUNTIME_MAIN, "runtime.main",
         "runtime/proc.go:145"},
	{GO19, 0x400340, 0x400340, 0, GOBIN_MCALL, "runtime.mcall",
         "runtime/asm_amd64.s:425"},
	{GO22, 0x400017, 0x400000, 136, GOBIN_RUNTIME_MAIN, "runtime.main",
         "runtime/proc.go:146"},
	{GO22, 0x400480, 0x400480, 0, GOBIN_SYSTEMSTACK, "runtime.systemstack",
         "runtime/asm_amd64.s:478"},
	{GO22, 0x400520, 0x400520, 0, GOBIN_MORESTACK, "runtime.morestack",
         "runtime/asm_amd64.s:578"},
	{GO22, 0x4005a0, 0x4005a0, 0, GOBIN_GOEXIT, "runtime.goexit",
         "runtime/asm_amd64.s:1695"},
	{GO22, 0x4005c0, 0x4005c0, 0, GOBIN_ASYNC_PREEMPT,
         "runtime.asyncPreempt", "runtime/preempt_amd64.s:8"},
	{GO22, 0x400c80, 0x400c80, 0, GOBIN_NORMAL,
         "main.(*worker[go.shape.string]).light", "gowork/main.go:42"},
	{GO25_PIE, 0x400000, 0x400000, 0, GOBIN_RUNTIME_MAIN, "runtime.main",
         "runtime/proc.go:148"},
	{GO25_PIE, 0x400480, 0x400480, 0, GOBIN_SYSTEMSTACK,
         "runtime.systemstack", "runtime/asm_amd64.s:482"},
	{GO25_PIE, 0x400c47, 0x400b00, 128, GOBIN_NORMAL, "main.main",
         "gowork/main.go:86"},
	{GO27, 0x400d20, 0x400d20, 0, GOBIN_NORMAL, "main.middle",
         "gowork/main.go:35"},
	{GO27, 0x4010f6, 0x400fa0, 128, GOBIN_NORMAL, "main.main",
         "gowork/main.go:87"},
	{GO27, 0x400740, 0x400740, 0, GOBIN_ASYNC_PREEMPT,
         "runtime.asyncPreempt", "runtime/preempt_amd64.s:9"},
};

static void
check_functions(int program, struct gobin *g)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		struct gobin_line line;
		struct gobin_frame f;
		char place[64];

		if (functions[i].program != program)
			continue;
		ck_assert(gobin_frame(g, functions[i].vaddr, &f));
		ck_assert_uint_eq(f.entry, functions[i].entry);
		ck_assert_int_eq(f.sp_delta, functions[i].sp_delta);
		ck_assert_uint_eq(f.func, functions[i].func);
		ck_assert_uint_eq(gobin_lines(g, functions[i].vaddr, &line, 1),
		                  1);
		snprintf(place, sizeof(place), "%s:%u", line.file, line.line);
		ck_assert_str_eq(line.name, functions[i].name);
		ck_assert_str_eq(place, functions[i].place);
		ck_assert_uint_eq(line.func, functions[i].func);
		ck_assert(!line.inlined);
	}
}

TEST(functions_have_frames_names_and_lines)
{
	each(check_functions);
}
END

/* Calls inlined at one address, innermost first, then the function. */
static const struct {
	int program;
	uint64_t vaddr;
	const char *chain;
} chains[] = {
	{GO19, 0x40008a,
         "runtime.(*guintptr).set runtime/runtime2.go:266 "
         "runtime.dolockOSThread runtime/proc.go:4380 "
         "runtime.lockOSThread runtime/proc.go:4419 "
         "runtime.main runtime/proc.go:181 "},
	{GO22, 0x40007f,
         "runtime.dolockOSThread runtime/proc.go:5168 "
         "runtime.lockOSThread runtime/proc.go:5207 "
         "runtime.main runtime/proc.go:182 "},
	{GO22, 0x400842,
         "main.step gowork/main.go:30 main.middle gowork/main.go:36 "},
	{GO25_PIE, 0x400c25,
         "fmt.Println fmt/print.go:314 main.main gowork/main.go:86 "},
	{GO27, 0x4010d7,
         "fmt.Println fmt/print.go:307 main.main gowork/main.go:86 "},
	{GO27, 0x400d30, "main.middle gowork/main.go:36 "},
};

static void
check_chains(int program, struct gobin *g)
{
	for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(4096);
		struct gobin_line lines[GOBIN_MAX_LINES];
		size_t n;

		if (chains[i].program != program)
			continue;
		n = gobin_lines(g, chains[i].vaddr, lines, ARRAY_LEN(lines));
		for (size_t k = 0; k < n; k++) {
			buf_addf(&text, "%s %s:%u ", lines[k].name,
			         lines[k].file, lines[k].line);
			ck_assert_int_eq(lines[k].inlined, k + 1 < n);
		}
		ck_assert_str_eq(buf_str(&text), chains[i].chain);
	}
}

TEST(inlined_calls_are_told_innermost_first)
{
	each(check_chains);
}
END

/* Answers are cached in fewer slots than the program has addresses. */
static void
check_order(int program, struct gobin *g)
{
	const struct gobin_about *a = gobin_about(g);
	size_t n = a->etext - a->text;
	CLEANUP_FREE struct gobin_frame *first = calloc(n, sizeof(*first));
	CLEANUP_FREE bool *had = calloc(n, sizeof(*had));

	for (size_t i = 0; i < n; i++)
		had[i] = gobin_frame(g, a->text + i, &first[i]);
	for (size_t i = 0; i < n; i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 17);
		CLEANUP_ELF struct elf_image *elf = NULL;
		CLEANUP_GOBIN struct gobin *fresh = NULL;
		struct gobin_frame f = {0};

		if (i % 64)
			continue;
		slurp(program, &bytes);
		ck_assert_int_eq(open_bytes(&bytes, &elf, &fresh), 0);
		ck_assert_int_eq(gobin_frame(fresh, a->text + i, &f), had[i]);
		ck_assert_mem_eq(&f, &first[i], had[i] ? sizeof(f) : 0);
	}
}

TEST(the_frame_of_an_address_is_the_same_whatever_was_asked_before)
{
	each(check_order);
}
END

static void
check_outside(int program, struct gobin *g)
{
	const uint64_t outside[] = {0, ENTRY - 1, programs[program].etext,
	                            UINT64_MAX};
	struct gobin_line line;
	struct gobin_frame f;

	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		ck_assert(!gobin_frame(g, outside[i], &f));
		ck_assert_uint_eq(gobin_lines(g, outside[i], &line, 1), 0);
	}
	ck_assert(gobin_frame(g, ENTRY, &f));
	ck_assert_uint_eq(gobin_lines(g, ENTRY, &line, 0), 0);
}

TEST(outside_of_the_text_there_is_no_function)
{
	each(check_outside);
}
END

TEST(functions_are_found_by_name)
{
	static const char *const names[] = {"main.middle", "main.nobody",
	                                    "runtime.main"};
	CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 17);
	CLEANUP_ELF struct elf_image *elf = NULL;
	CLEANUP_GOBIN struct gobin *g = NULL;
	struct gobin_range out[3];

	slurp(GO27, &bytes);
	ck_assert_int_eq(open_bytes(&bytes, &elf, &g), 0);
	gobin_named(g, names, 3, out);
	ck_assert_uint_eq(out[0].start, 0x400d20);
	ck_assert_uint_eq(out[0].end, 0x400d60);
	ck_assert_uint_eq(out[1].end, 0);
	ck_assert_uint_eq(out[2].start, ENTRY);
}
END

/* Bytes of the header of the function table: runtime/symtab.go, pcHeader. */
static const struct {
	const char *what;
	size_t at;
	uint64_t word;
	size_t size;
	int want;
} spoilt[] = {
	{"nothing", 0, 0, 0, 0},
	{"another magic", 0, 0xf2, 1, -ENOENT},
	{"a byte that is 0", 4, 1, 1, -ENOENT},
	{"the other", 5, 1, 1, -ENOENT},
	{"least bytes of an instruction", 6, 2, 1, -ENOENT},
	{"bytes of a pointer", 7, 4, 1, -ENOENT},
	{"no function", 8, 0, 8, -EBADMSG},
	{"too many functions", 8, 1 << 20, 8, -EBADMSG},
	{"names before the table", 32, 71, 8, -EBADMSG},
	{"names behind the table", 32, 1 << 20, 8, -EBADMSG},
	{"units behind the table", 40, 1 << 20, 8, -EBADMSG},
	{"files behind the table", 48, 1 << 20, 8, -EBADMSG},
	{"values behind the table", 56, 1 << 20, 8, -EBADMSG},
	{"functions behind the table", 64, 1 << 20, 8, -EBADMSG},
};

TEST(a_malformed_function_table_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(spoilt); i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 17);
		CLEANUP_ELF struct elf_image *elf = NULL;
		CLEANUP_GOBIN struct gobin *g = NULL;
		char *at;

		slurp(GO27, &bytes);
		at = memmem(bytes.p, bytes.len, "\xf1\xff\xff\xff\0\0\1\10", 8);
		ck_assert_ptr_nonnull(at);
		memcpy(at + spoilt[i].at, &spoilt[i].word, spoilt[i].size);
		ck_assert_msg(open_bytes(&bytes, &elf, &g) == spoilt[i].want,
		              "%s", spoilt[i].what);
	}
}
END

/* --- searching data, and code for variables ------------------------------- */

#define WORD   UINT64_C(0x5ca1ab1e5ca1ab1e)
#define CHUNK  (1u << 20) /* bytes that are read at once */
#define LENGTH (2 * CHUNK + 64)

/* The place of a word in the only segment, and the range that is searched. */
static const struct {
	uint64_t vaddr; /* of the segment */
	size_t at;
	uint32_t flags;
	uint64_t max;
	bool found;
} words[] = {
	{0x10000, 0, PF_R, UINT64_MAX, true},
	{0x10000, CHUNK - 8, PF_R, UINT64_MAX, true},
	{0x10000, CHUNK, PF_R, UINT64_MAX, true},
	{0x10000, LENGTH - 8, PF_R, UINT64_MAX, true},
	{0x10004, 4, PF_R, UINT64_MAX, true},
	{0x10004, LENGTH - 12, PF_R, UINT64_MAX, true},
	{0x10000, 4, PF_R, UINT64_MAX, false}, /* not aligned */
	{0x10004, 8, PF_R, UINT64_MAX, false},
	{0x10000, 8, PF_R, 16, true},
	{0x10000, 16, PF_R, 16, false},
	{0x10000, 8, PF_R | PF_W, UINT64_MAX, false},
};

static bool
take_vaddr(void *arg, uint64_t vaddr)
{
	*(uint64_t *)arg = vaddr;
	return false;
}

TEST(a_word_is_found_wherever_it_lies_in_a_segment)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr load;
		uint8_t bytes[LENGTH];
	} *m = calloc(1, sizeof(*m));

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		CLEANUP_ELF struct elf_image *elf = NULL;
		const uint64_t what = WORD;
		uint64_t vaddr = 0;

		memset(m, 0, sizeof(*m));
		memcpy(m->head.e_ident, ELFMAG "\2\1\1", 7);
		m->head.e_machine = EM_X86_64;
		m->head.e_phoff = sizeof(m->head);
		m->head.e_phnum = 1;
		m->head.e_phentsize = sizeof(m->load);
		m->load = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_offset = sizeof(m->head) + sizeof(m->load),
			.p_vaddr = words[i].vaddr,
			.p_filesz = LENGTH,
			.p_memsz = LENGTH,
		};
		memcpy(m->bytes + words[i].at, &what, sizeof(what));
		ck_assert_int_eq(elf_open_memory(m, sizeof(*m), &elf), 0);
		ck_assert_int_eq(gobin_scan(elf, words[i].flags, WORD,
		                            UINT64_MAX, words[i].max,
		                            take_vaddr, &vaddr),
		                 0);
		ck_assert_uint_eq(vaddr, words[i].found
		                                 ? words[i].vaddr + words[i].at
		                                 : 0);
	}
	free(m);
}
END

/* Code at 0x1000 that uses a variable DISTANCE bytes after itself. */
static const struct {
	const char *code;
	size_t n;
	enum go_use use;
	uint64_t low, high, found; /* 0: nothing */
} uses[] = {
	{"\x48\x8d\x05\x01\x10\0\0", 7, GO_ADDRESS, 0x2000, 0x2009, 0x2008},
	{"\x48\x8d\x05\x01\x10\0\0", 7, GO_ADDRESS, 0x2008, 0x2009, 0x2008},
	{"\x48\x8d\x05\x01\x10\0\0", 7, GO_ADDRESS, 0x2009, 0x3000, 0},
	{"\x48\x8d\x05\x01\x10\0\0", 7, GO_ADDRESS, 0x2000, 0x2008, 0},
	{"\x48\x8d\x05\x01\x10\0\0", 6, GO_ADDRESS, 0x2000, 0x3000, 0},
	{"\x48\x8d\x05\x01\x10\0\0", 7, GO_LOAD, 0x2000, 0x3000, 0},
	{"\x48\x8d\x05\x05\x10\0\0", 7, GO_ADDRESS, 0x2000, 0x3000, 0},
	{"\x48\x8d\x45\x01\x10\0\0", 7, GO_ADDRESS, 0x2000, 0x3000, 0},
	{"\x4c\x8b\x2d\x01\x10\0\0", 7, GO_LOAD, 0x2000, 0x3000, 0x2008},
	{"\x4c\x8b\x2d\x01\x10\0\0", 7, GO_LOAD32, 0x2000, 0x3000, 0},
	{"\x8b\x05\x06\x10\0\0", 6, GO_LOAD32, 0x2000, 0x3000, 0x200c},
	{"\x44\x8b\x05\x05\x10\0\0", 7, GO_LOAD32, 0x2000, 0x3000, 0x200c},
	{"\x48\x83\x3d\0\x10\0\0\0", 8, GO_COMPARE, 0x2000, 0x3000, 0x2008},
	{"\x48\x83\x05\0\x10\0\0\0", 8, GO_COMPARE, 0x2000, 0x3000, 0},
	{"\x48\x8d\x05\xf1\xff\xff\xff", 7, GO_ADDRESS, 0, 0x3000, 0xff8},
};

TEST(variables_are_found_in_code_by_how_it_uses_them)
{
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		struct go_operands o = {.n = 0};

		for (int again = 0; again < 2; again++)
			go_code_operands((const uint8_t *)uses[i].code,
			                 uses[i].n, 0x1000, uses[i].use,
			                 uses[i].low, uses[i].high, &o);
		ck_assert_uint_eq(o.n, uses[i].found != 0);
		ck_assert_uint_eq(o.at[0], uses[i].found);
	}
}
END

TEST(operands_are_kept_by_whether_others_have_them)
{
	const struct go_operands all = {{1, 2, 3}, 3}, other = {{2, 9}, 2};
	struct go_operands both = all, rest = all;

	go_operands_keep(&both, &other, 1);
	go_operands_keep(&rest, &other, 0);
	ck_assert_uint_eq(both.n, 1);
	ck_assert_uint_eq(both.at[0], 2);
	ck_assert_uint_eq(rest.n, 2);
	ck_assert_uint_eq(rest.at[1], 3);
}
END

SUITE("gobin");
