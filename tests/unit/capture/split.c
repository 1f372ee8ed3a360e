/* Debug information as compilers and linkers write it: whole, in .dwo and .dwp
 * files, and shared. */
#include "base/conf.h"
#include "capture/symbols/debug_file.h"
#include "capture/symbols/symbols.h"
#include "lib/here.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
	"static volatile int sink;\n"
	"static inline __attribute__((always_inline)) void inner(int x)\n"
	"{ for (int i = 0; i < x; i++) sink += i * x; }\n"
	"static inline __attribute__((always_inline)) void middle(int x)\n"
	"{ inner(x); if (sink) inner(x + 1); }\n"
	"__attribute__((noinline)) void outer(int x) { middle(x); }\n"
	"__attribute__((section(\".text.other\"))) void other(int x)\n"
	"{ middle(x); }\n"
	"int main(int n, char **v) { (void)v; outer(n); other(n); return 0; "
	"}\n";

static struct {
	char dir[64], program[96];
	struct conf conf;
	struct host host; /* its debug files are in dir */
} the;

static void
run(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s 2>errors", the.dir, command);
	ck_assert_msg(!system(line), "%s", line);
}

static void
set_up(void)
{
	char path[128];
	FILE *f;

	strcpy(the.dir, "/var/tmp/stoker-split-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(the.dir));
	the.conf = (struct conf){.worker_debug_dir = the.dir,
	                         .symbols_debuginfod = (char *)""};
	the.host = (struct host){.ask = host_ask_here, .arg = &the.conf};
	snprintf(the.program, sizeof(the.program), "%s/program", the.dir);
	snprintf(path, sizeof(path), "%s/source.c", the.dir);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
}

static void
tear_down(void)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s", the.dir);
	ck_assert_int_eq(system(line), 0);
}

static bool
has_tool(const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", name);
	return !system(line);
}

static struct elf_image *
open_file(const char *path)
{
	struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(open(path, O_RDONLY | O_CLOEXEC), &e), 0);
	return e;
}

static struct elf_image *
open_here(void *arg, uint32_t module, const char *dir, const char *name)
{
	(void)module;
	return debug_file_split(&the.host, getpid(), the.program, arg, dir,
	                        name);
}

struct wanted {
	const char *name;
	uint64_t start, end;
};

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct wanted *w = arg;

	if (!strcmp(name, w->name)) {
		w->start = sym->st_value;
		w->end = sym->st_value + sym->st_size;
	}
}

/* Counts addresses of a function at which both inlined calls are frames. */
static unsigned
count(struct symbolizer *s, const struct elf_image *e, const char *name)
{
	struct wanted w = {.name = name};
	struct sym_frame f[4];
	unsigned n = 0;

	ck_assert_int_eq(elf_symbols(e, SHT_SYMTAB, match, &w), 0);
	ck_assert_uint_gt(w.end, w.start);
	for (uint64_t at = w.start; at < w.end; at++) {
		if (symbolizer_lookup(s, 0, at, f, ARRAY_LEN(f)) != 3)
			continue;
		ck_assert_str_eq(f[0].name, "inner");
		ck_assert_str_eq(f[1].name, "middle");
		ck_assert_str_eq(f[2].name, name);
		for (size_t i = 0; i < 3; i++)
			ck_assert(strstr(f[i].file, "source.c"));
		ck_assert_uint_eq(f[0].line, 3);
		ck_assert_uint_eq(f[1].line, 5);
		n++;
	}
	return n;
}

/* Looks up all of the program's addresses. Returns whether files were
 * missing. */
static bool
look_up(bool with_files, const struct elf_image *shared, unsigned *n)
{
	CLEANUP_ELF struct elf_image *e = open_file(the.program), *debug = NULL;
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);

	if (with_files)
		symbolizer_split(s, open_here, e);
	debug = debug_file_of_host(&the.host, e);
	if (!debug)
		debug = debug_file_of_target(&the.host, getpid(), the.program,
		                             e);
	ck_assert_int_eq(symbolizer_add(s, 0, e, debug), 0);
	symbolizer_share(s, 0, shared);
	*n = count(s, debug ? debug : e, "outer");
	if (*n)
		*n = count(s, debug ? debug : e, "other");
	return symbolizer_lacked(s);
}

static const struct {
	const char *tool, *build, *pack;
} kinds[] = {
	{"gcc", "gcc -O2 -gdwarf-5 -gsplit-dwarf source.c -o program", NULL},
	{"gcc", "gcc -O2 -gdwarf-4 -gsplit-dwarf source.c -o program", NULL},
	{"dwp", "gcc -O2 -gdwarf-4 -gsplit-dwarf source.c -o program",
         "dwp -e program -o program.dwp"},
	{"clang",
         "clang -O2 -gdwarf-5 -gsplit-dwarf -c source.c -o program.o && "
         "clang program.o -o program",
         NULL},
	{"llvm-dwp",
         "clang -O2 -gdwarf-5 -gsplit-dwarf -c source.c -o program.o && "
         "clang program.o -o program",
         "llvm-dwp program.dwo -o program.dwp"},
};

TEST(inlined_calls_are_read_from_what_compilers_and_linkers_write)
{
	static const struct {
		const char *tool, *build;
	} rows[] = {
		{"gcc", "gcc -O2 -gdwarf-5 -gz source.c -o program"},
		{"gcc", "gcc -O2 -gdwarf-5 -gz=zlib-gnu source.c -o program"},
		{"gcc", "gcc -O2 -gdwarf-5 source.c -o program && objcopy "
	                "--compress-debug-sections=zstd program"},
		{"gcc", "gcc -O2 -gdwarf-5 -gdwarf64 source.c -o program"},
		{"gcc", "gcc -O2 -gdwarf-5 -static-pie source.c -o program"},
		{"gcc", "gcc -O2 -gdwarf-5 -no-pie -Wl,-z,noseparate-code "
	                "source.c -o program"},
		{"ld.gold", "gcc -O2 -gdwarf-4 -fuse-ld=gold -Wl,--gdb-index "
	                    "source.c -o program"},
		{"ld.lld", "gcc -O2 -gdwarf-5 -fuse-ld=lld source.c "
	                   "-Wl,--compress-debug-sections=zlib -o program"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned n;

		if (!has_tool(rows[i].tool)) {
			printf("skip: no %s\n", rows[i].tool);
			continue;
		}
		set_up();
		run(rows[i].build);
		ck_assert_msg(!look_up(false, NULL, &n) && n, "%s",
		              rows[i].build);
		tear_down();
	}
}
END

TEST(inlined_calls_are_read_from_split_debug_information)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		unsigned n;

		if (!has_tool(kinds[i].tool)) {
			printf("skip: no %s\n", kinds[i].tool);
			continue;
		}
		set_up();
		run(kinds[i].build);
		if (kinds[i].pack) {
			run(kinds[i].pack);
			run("rm *.dwo");
		}
		ck_assert_msg(!look_up(true, NULL, &n) && n, "row %zu", i);
		ck_assert_msg(look_up(false, NULL, &n) && !n, "row %zu", i);
		tear_down();
	}
}
END

/* Moves debug information to a file at that path, and the package beside it. */
TEST(a_package_is_found_beside_the_debug_file)
{
	static const struct {
		const char *debug, *package;
	} rows[] = {
		{"program.debug", "program.debug.dwp"},
		{".debug/program.debug", ".debug/program.debug.dwp"},
		{".debug/program.debug", ".debug/program.dwp"},
		{".debug/other", ".debug/program.dwp"},
		{".build-id/ab/cdef.debug", ".build-id/ab/cdef.dwp"},
		{".build-id/ab/cdef.debug", ".build-id/ab/cdef.debug.dwp"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[400];
		unsigned n;

		if (!has_tool("dwp")) {
			printf("skip: no dwp\n");
			return;
		}
		set_up();
		snprintf(line, sizeof(line),
		         "mkdir -p .debug .build-id/ab && gcc -O2 -gdwarf-4 "
		         "-gsplit-dwarf -Wl,--build-id=0xabcdef source.c -o "
		         "program && dwp -e program -o %s && rm *.dwo && "
		         "objcopy --only-keep-debug program %s && strip -g "
		         "program && objcopy --add-gnu-debuglink=%s program",
		         rows[i].package, rows[i].debug, rows[i].debug);
		run(line);
		ck_assert_msg(!look_up(true, NULL, &n) && n, "%s",
		              rows[i].package);
		tear_down();
	}
}
END

TEST(a_shared_file_is_found_beside_the_program)
{
	CLEANUP_ELF struct elf_image *e = NULL, *shared = NULL;
	unsigned n;

	if (!has_tool("dwz")) {
		printf("skip: no dwz\n");
		return;
	}
	set_up();
	run("gcc -O2 -gdwarf-4 source.c -o program && cp program other && "
	    "dwz -m common program other");
	e = open_file(the.program);
	shared = debug_file_shared_of_target(&here, getpid(), the.program, e);
	ck_assert_ptr_nonnull(shared);
	(void)look_up(false, shared, &n);
	ck_assert_uint_gt(n, 0);
	tear_down();
}
END

SUITE("split");
