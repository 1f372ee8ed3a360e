/* This program looks up its own functions, since it has DWARF. */
#include "capture/symbols/symbols.h"
#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

static inline __attribute__((always_inline)) void
folded(int x)
{
	for (int i = 0; i < x; i++)
		sink += i * x; /* folded's line */
}
static const int folded_line = __LINE__ - 2;

static NOINLINE int
around(int x)
{
	sink = x;
	folded(x); /* around's line */
	return sink;
}
static const int around_line = __LINE__ - 3;

static struct elf_image *
open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	return e;
}

static int
first_bias(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

static uint64_t
vaddr_of(int (*f)(int))
{
	uint64_t bias;

	dl_iterate_phdr(first_bias, &bias);
	return (uint64_t)f - bias;
}

/* Returns the first address of around() at which folded() runs. */
static size_t
find_folded(struct symbolizer *s, struct sym_frame *out, size_t max)
{
	uint64_t at = vaddr_of(around);

	for (int i = 0; i < 256; i++, at++) {
		size_t n = symbolizer_lookup(s, 0, at, out, max);

		if (n && !strcmp(out[0].name, "folded") &&
		    (int)out[0].line == folded_line)
			return n;
	}
	return 0;
}

TEST(a_function_has_its_name_file_and_line)
{
	CLEANUP_ELF struct elf_image *e = open_self();
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f[4];

	ck_assert_int_eq(symbolizer_add(s, 0, e, NULL), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 0, vaddr_of(around), f, 4), 1);
	ck_assert_str_eq(f[0].name, "around");
	ck_assert_str_eq(f[0].system_name, "around");
	ck_assert_ptr_nonnull(
		strstr(f[0].file, "tests/unit/capture/symbols.c"));
	ck_assert_int_ge((int)f[0].start_line, folded_line);
	ck_assert_int_lt((int)f[0].start_line, around_line);
	ck_assert_int_ge((int)f[0].line, (int)f[0].start_line);
}
END

TEST(an_inlined_call_is_a_frame_with_the_line_it_was_called_from)
{
	CLEANUP_ELF struct elf_image *e = open_self();
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f[4];

	around(3);
	ck_assert_int_eq(symbolizer_add(s, 0, e, NULL), 0);
	ck_assert_uint_eq(find_folded(s, f, 4), 2);
	ck_assert_str_eq(f[1].name, "around");
	ck_assert_int_eq((int)f[1].line, around_line);
}
END

TEST(no_more_frames_are_told_than_asked_for)
{
	CLEANUP_ELF struct elf_image *e = open_self();
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f[2] = {{0}, {.name = "untouched"}};

	ck_assert_int_eq(symbolizer_add(s, 0, e, NULL), 0);
	ck_assert_uint_eq(find_folded(s, f, 1), 1);
	ck_assert_str_eq(f[1].name, "untouched");
	ck_assert_uint_eq(symbolizer_lookup(s, 0, vaddr_of(around), f, 0), 0);
}
END

/* Opens this program without its section headers. */
static struct elf_image *
open_stripped(const struct elf_image *whole)
{
	struct elf_image *e = NULL;
	void *p = NULL;

	ck_assert_int_eq(elf_copy(whole, 0, whole->size, SIZE_MAX, &p), 0);
	((Elf64_Ehdr *)p)->e_shoff = 0;
	ck_assert_int_eq(elf_open_memory(p, whole->size, &e), 0);
	free(p);
	return e;
}

TEST(a_separate_debug_file_names_a_stripped_programs_functions)
{
	CLEANUP_ELF struct elf_image *whole = open_self();
	CLEANUP_ELF struct elf_image *bare = open_stripped(whole);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	uint64_t at = vaddr_of(around);
	struct sym_frame f[4];

	ck_assert_int_eq(elf_debug_matches(bare, whole), 0);
	ck_assert_int_eq(symbolizer_add(s, 0, bare, NULL), 0);
	ck_assert_int_eq(symbolizer_add(s, 9, bare, whole), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 0, at, f, 4), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 9, at, f, 4), 1);
	ck_assert_str_eq(f[0].name, "around");
	ck_assert_int_gt((int)f[0].line, 0);
}
END

TEST(an_image_in_memory_is_symbolized_like_its_file)
{
	CLEANUP_ELF struct elf_image *whole = open_self(), *copy = NULL;
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	CLEANUP_FREE void *p = NULL;
	struct sym_frame f[4];

	ck_assert_int_eq(elf_copy(whole, 0, whole->size, SIZE_MAX, &p), 0);
	ck_assert_int_eq(elf_open_memory(p, whole->size, &copy), 0);
	ck_assert_int_eq(symbolizer_add(s, 0, copy, NULL), 0);
	ck_assert_uint_eq(find_folded(s, f, 4), 2);
	symbolizer_free(TAKE(s));
}
END

TEST(unknown_modules_and_addresses_have_no_frames)
{
	CLEANUP_ELF struct elf_image *e = open_self();
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f[4];

	ck_assert_uint_eq(symbolizer_lookup(s, 0, 0, f, 4), 0);
	ck_assert_int_eq(symbolizer_add(s, 3, e, NULL), 0);
	ck_assert_int_eq(symbolizer_add(s, 3, e, NULL), -EEXIST);
	ck_assert_int_eq(symbolizer_add(s, SYMBOLIZER_MAX_MODULES, e, NULL),
	                 -EINVAL);
	ck_assert_int_eq(symbolizer_add(s, SYMBOLIZER_MAX_MODULES - 1, e, NULL),
	                 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 2, vaddr_of(around), f, 4), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 3, 1, f, 4), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, 3, UINT64_MAX, f, 4), 0);
	ck_assert_uint_eq(symbolizer_lookup(s, UINT32_MAX, 1, f, 4), 0);
}
END

SUITE("symbols");
