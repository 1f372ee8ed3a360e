/*
 * Code that this process loads from an object file, as JIT compilers do, and
 * describes to debuggers or not.
 */
#include "capture/process/process_code.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/event.h"
#include "capture/naming/namer.h"
#include "lib/here.h"
#include "lib/test.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROOM     65536u /* bytes of code */
#define COPY     (64 << 10)

/* Source: GDB manual, "Using the Interface" */
struct row {
	struct row *next, *before;
	const void *file;
	uint64_t size;
};
struct {
	uint32_t version, action;
	struct row *relevant, *first;
} __jit_debug_descriptor = {.version = 1};

typedef void made(void (*back)(void));

static const char source[] =
	"__attribute__((noinline)) static void made_inner(void (*back)(void))\n"
	"{\n"
	"	volatile char room[200];\n"
	"	room[0] = 1;\n"
	"	back();\n"
	"	room[1] = 1;\n"
	"}\n"
	"void made_outer(void (*back)(void))\n"
	"{\n"
	"	volatile char room[100];\n"
	"	room[0] = 1;\n"
	"	made_inner(back);\n"
	"	room[1] = 1;\n"
	"}\n"
	"void made_leaving(void (*back)(void))\n"
	"{\n"
	"	volatile char room[100];\n"
	"	room[0] = 1;\n"
	"	made_inner(back);\n"
	"	room[1] = 1;\n"
	"	back();\n"
	"}\n"
	"__attribute__((noinline)) static void aligned(void (*back)(void))\n"
	"{\n"
	"	volatile char room[64] __attribute__((aligned(64)));\n"
	"	volatile char more[(unsigned long)back % 64 + 1];\n"
	"	room[0] = more[0] = 1;\n"
	"	made_inner(back);\n"
	"	room[1] = 1;\n"
	"}\n"
	"void made_aligned(void (*back)(void))\n"
	"{\n"
	"	volatile char room[100];\n"
	"	room[0] = 1;\n"
	"	aligned(back);\n"
	"	room[1] = 1;\n"
	"}\n";

static struct {
	char dir[64];
	struct buf file;
	uint8_t *code;
	struct row row;
	struct modules *modules;
	struct process proc;
	struct proc_stack stack;
	uint8_t copy[COPY];
	char names[1024]; /* frames of the last stack, innermost first */
} the;

static void
compile(void)
{
	char path[96], command[256];
	FILE *f;

	strcpy(the.dir, "/tmp/stoker-described.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(the.dir));
	snprintf(path, sizeof(path), "%s/made.c", the.dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof(command),
	         "cd %s && gcc -O2 -g -fomit-frame-pointer -fno-pic -c made.c",
	         the.dir);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/made.o", the.dir);
	the.file = (struct buf)BUF_INIT((size_t)1 << 20);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &the.file), 0);
	snprintf(command, sizeof(command), "rm -r %s", the.dir);
	ck_assert_int_eq(system(command), 0);
}

/* Loads the sections that code needs, and writes their addresses into the
 * file. Returns the function. */
static made *
load_function(const char *name)
{
	char *p = the.file.p;
	const Elf64_Ehdr *h = (const void *)p;
	Elf64_Shdr *s = (void *)(p + h->e_shoff);
	uint8_t *to = the.code =
		mmap(NULL, ROOM, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made *found = NULL;

	ck_assert_ptr_ne(to, MAP_FAILED);
	for (unsigned i = 0; i < h->e_shnum; i++) {
		if (!(s[i].sh_flags & SHF_ALLOC) || !s[i].sh_size)
			continue;
		memcpy(to, p + s[i].sh_offset, s[i].sh_size);
		s[i].sh_addr = (uintptr_t)to;
		to += (s[i].sh_size + 63) & ~UINT64_C(63);
	}
	for (unsigned i = 0; i < h->e_shnum; i++) {
		const Elf64_Sym *sym = (const void *)(p + s[i].sh_offset);
		const char *names = p + s[s[i].sh_link].sh_offset;

		for (size_t k = 0; s[i].sh_type == SHT_SYMTAB &&
		                   k < s[i].sh_size / sizeof(*sym);
		     k++)
			if (!strcmp(names + sym[k].st_name, name))
				found = (made *)(s[sym[k].st_shndx].sh_addr +
				                 sym[k].st_value);
	}
	ck_assert_ptr_nonnull(found);
	return found;
}

static made *
load(void)
{
	return load_function("made_outer");
}

static void
describe(void)
{
	the.row = (struct row){.file = the.file.p, .size = the.file.len};
	__jit_debug_descriptor.relevant = __jit_debug_descriptor.first =
		&the.row;
}

static void
start(void)
{
	compile();
	ck_assert_int_eq(modules_new(&here, &the.modules), 0);
	the.proc = (struct process){.pid = (uint32_t)getpid(),
	                            .modules = the.modules};
	the.proc.parent = the.proc.origin = the.proc.pid;
}

static void
read_maps(void)
{
	uint32_t threads;

	ck_assert_int_eq(process_read_maps(&the.proc, the.modules, &threads),
	                 0);
}

static void
stop(void)
{
	process_forget_code(&the.proc);
	unwinder_free(the.proc.unwinder);
	maps_done(&the.proc.maps);
	modules_free(the.modules);
	munmap(the.code, ROOM);
	buf_done(&the.file);
	__jit_debug_descriptor.first = NULL;
}

static void
name_stack(void)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *symbols =
		symbols_cache_new((size_t)1 << 20);
	struct quality quality = {0};
	CLEANUP_NAMER struct namer *n =
		namer_new(the.modules, &here, symbols, &quality, false, 0);
	struct sym_frame frames[16];

	the.names[0] = '\0';
	for (size_t i = 0; i < the.stack.n; i++) {
		size_t count = namer_lookup(n, the.stack.places[i], frames, 16);

		if (!count)
			count = namer_unknown(n, the.stack.places[i], frames);
		for (size_t k = 0; k < count; k++) {
			size_t len = strlen(the.names);

			snprintf(the.names + len, sizeof(the.names) - len,
			         "%s:%u;", frames[k].name,
			         (unsigned)frames[k].line);
		}
	}
}

/* Makes a sample of the code that calls this. */
static NOINLINE void
look(void)
{
	struct record r = {.kind = RECORD_SAMPLE,
	                   .time_ns = (uint64_t)clock_mono_ns()};
	const greg_t *g;
	ucontext_t uc;

	getcontext(&uc);
	g = uc.uc_mcontext.gregs;
	r.sample.has_user = true;
	r.sample.regs[PERF_REG_X86_BX] = (uint64_t)g[REG_RBX];
	r.sample.regs[PERF_REG_X86_BP] = (uint64_t)g[REG_RBP];
	r.sample.regs[PERF_REG_X86_SP] = (uint64_t)g[REG_RSP];
	r.sample.regs[PERF_REG_X86_IP] = (uint64_t)g[REG_RIP];
	r.sample.stack = memcpy(the.copy, (const void *)g[REG_RSP], 4096);
	r.sample.stack_len = 4096;
	process_stacks_begin(&the.stack);
	process_stack(&the.proc, &r, &the.stack);
	process_stacks_end(&the.stack);
	name_stack();
}

static NOINLINE void
call(made *f)
{
	f(look);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void
call_back(made *f, void (*back)(void))
{
	f(back);
	__asm__ volatile("" ::: "memory");
}

static bool
has(const char *names)
{
	return strstr(the.names, names);
}

TEST(code_that_is_described_to_debuggers_has_names_lines_and_callers)
{
	made *f;

	start();
	f = load();
	read_maps();
	describe();
	call(f);
	ck_assert_msg(has("look:") && has(";made_inner:5;made_outer:12;call:"),
	              "%s", the.names);
	stop();
}
END

TEST(code_that_nothing_describes_has_callers)
{
	char want[128];
	made *f;

	start();
	f = load();
	read_maps();
	call(f);
	snprintf(want, sizeof(want),
	         ";[anon]+%p:0;[anon]+%p:0;call:", (void *)the.code,
	         (void *)the.code);
	ck_assert_msg(has(want), "%s, not %s", the.names, want);
	stop();
}
END

/* Keeps what the first call saw. */
static NOINLINE void
look_once(void)
{
	if (!the.names[0])
		look();
	__asm__ volatile("" ::: "memory");
}

/* Code that aligns the stack has its return address twice, and its caller's
 * stack pointer in a word of its frame. Code that ends with a call through a
 * register never returns. */
TEST(code_whose_frame_only_its_instructions_show_has_callers)
{
	static const struct {
		const char *function;
		unsigned frames;
	} rows[] = {{"made_aligned", 3}, {"made_leaving", 2}};
	char want[256];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *made_at;
		size_t len = 0;
		made *f;

		start();
		f = load_function(rows[i].function);
		read_maps();
		the.names[0] = '\0';
		call_back(f, look_once);
		for (unsigned k = 0; k < rows[i].frames; k++)
			len += (size_t)sprintf(want + len, "[anon]+%p:0;",
			                       (void *)the.code);
		strcpy(want + len, "call_back:");
		made_at = strchr(strchr(the.names, ';') + 1, ';') + 1;
		ck_assert_msg(!strncmp(made_at, want, strlen(want)),
		              "%s: %s, not %s", rows[i].function, the.names,
		              want);
		stop();
	}
}
END

TEST(code_that_is_described_no_longer_has_no_name)
{
	made *f;

	start();
	f = load();
	read_maps();
	describe();
	call(f);
	ck_assert(has(";made_outer:"));
	__jit_debug_descriptor.first = NULL;
	usleep(300000); /* until then the last reading is trusted */
	call(f);
	ck_assert_msg(!has("made_outer") && has(";call:"), "%s", the.names);
	stop();
}
END

/* Symbols that would rename functions of this program. */
TEST(described_code_outside_of_memory_without_a_file_is_refused)
{
	Elf64_Shdr *s;
	Elf64_Ehdr *h;
	made *f;

	start();
	f = load();
	read_maps();
	h = (void *)the.file.p;
	s = (void *)(the.file.p + h->e_shoff);
	for (unsigned i = 0; i < h->e_shnum; i++)
		if (s[i].sh_flags & SHF_EXECINSTR)
			s[i].sh_addr = (uintptr_t)call;
	describe();
	call(f);
	ck_assert_msg(!has("made_") && has(";call:"), "%s", the.names);
	stop();
}
END

TEST(a_list_without_an_end_is_read_once)
{
	made *f;

	start();
	f = load();
	read_maps();
	describe();
	the.row.next = &the.row;
	call(f);
	ck_assert(has(";made_outer:"));
	stop();
}
END

static size_t
count_described(void)
{
	size_t n = 0;

	for (uint32_t i = MODULE_FIRST; i < the.modules->n; i++)
		n += the.modules->rows[i] && the.modules->rows[i]->described;
	return n;
}

/* Three such objects exceed what a process may describe. */
TEST(code_counts_as_much_as_files_that_describe_it)
{
	const size_t room = CODE_MAX_BYTES / 8 * 3;
	struct row rows[3];
	Elf64_Shdr *s;
	Elf64_Ehdr *h;
	uint8_t *code;

	start();
	load();
	code = mmap(NULL, room, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(code, MAP_FAILED);
	h = (void *)the.file.p;
	s = (void *)(the.file.p + h->e_shoff);
	for (unsigned i = 0; i < h->e_shnum; i++) {
		if (!(s[i].sh_flags & SHF_EXECINSTR) || !s[i].sh_size)
			continue;
		s[i].sh_addr = (uintptr_t)code;
		s[i].sh_size = room;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		rows[i] = (struct row){.file = the.file.p,
		                       .size = the.file.len,
		                       .next = i ? &rows[i - 1] : NULL};
	__jit_debug_descriptor.first = &rows[2];
	read_maps();
	ck_assert(process_code_look(&the.proc));
	ck_assert_uint_eq(count_described(), 2);
	munmap(code, room);
	stop();
}
END

/* Sets the time that reading for this process has taken. */
static void
set_spent(int64_t ns)
{
	the.modules->spent[getpid() % MODULES_SPENDERS] =
		(struct modules_spent){getpid(), ns, clock_mono_ns()};
}

TEST(code_is_read_once_the_process_may_take_the_time)
{
	made *f;

	start();
	f = load();
	read_maps();
	describe();
	set_spent(2 * MODULES_MAX_CPU);
	call(f);
	ck_assert_msg(!has("made_outer") && has(";call:"), "%s", the.names);
	for (uint32_t i = MODULE_FIRST; i < the.modules->n; i++)
		ck_assert_ptr_null(the.modules->rows[i]->symbol_of);
	set_spent(0);
	usleep(60000); /* between looks */
	call(f);
	ck_assert_msg(has(";made_outer:"), "%s", the.names);
	ck_assert_int_gt(the.modules->spent[getpid() % MODULES_SPENDERS].ns, 0);
	stop();
}
END

/* Maps only the code. */
static void
learn_code(void)
{
	const struct map_seen seen = {.start = (uintptr_t)the.code,
	                              .end = (uintptr_t)the.code + ROOM,
	                              .path = "",
	                              .executable = true};

	process_learn(&the.proc, the.modules, &seen);
}

TEST(a_descriptor_in_a_file_that_is_mapped_later_is_found)
{
	made *f;

	start();
	f = load();
	describe();
	learn_code();
	ck_assert(!process_code_look(&the.proc));
	read_maps();
	usleep(60000); /* between looks */
	call(f);
	ck_assert_msg(has(";made_outer:"), "%s", the.names);
	stop();
}
END

static uint32_t
module_at(const void *p)
{
	const struct map *m = maps_find(&the.proc.maps, (uintptr_t)p);

	ck_assert_ptr_nonnull(m);
	return m->module;
}

TEST(a_library_in_the_row_of_covered_code_stays_when_that_is_dropped)
{
	bool in_use[MODULES_MAX] = {false};
	uint32_t module;
	const void *p;
	made *f;
	int fd;

	start();
	f = load();
	read_maps();
	describe();
	call(f);
	module = module_at((const void *)f);
	ck_assert(the.modules->rows[module]->described);
	learn_code();
	for (uint32_t i = 0; i < the.proc.maps.n; i++)
		in_use[the.proc.maps.rows[i].module] = true;
	modules_sweep(the.modules, in_use);
	fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	ck_assert_ptr_ne(p, MAP_FAILED);
	read_maps();
	ck_assert_uint_eq(module_at(p), module);
	__jit_debug_descriptor.first = NULL;
	usleep(300000); /* until then the last reading is trusted */
	call(f);
	ck_assert_uint_eq(module_at(p), module);
	munmap((void *)p, 4096);
	stop();
}
END

SUITE("described");
