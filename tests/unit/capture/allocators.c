/* The functions of allocators that get probes. */
#include "capture/probes/allocators.h"

#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define LIB  "/usr/lib/x86_64-linux-gnu/"
#define MOST 9

static const struct {
	const char *path;
	/* Functions that get a probe, and functions that always call one of
	 * the former. */
	const char *watched[MOST], *others[MOST];
} allocators[] = {
	{LIB "libc.so.6",
         {"malloc", "calloc", "realloc", "memalign", "valloc", "free"},
         {"reallocarray"}},
	{LIB "libjemalloc.so.2",
         {"malloc", "memalign", "valloc", "mallocx", "sdallocx"},
         {NULL}},
	{LIB "libtcmalloc_minimal.so.4",
         {"malloc", "memalign", "posix_memalign", "tc_free_sized"},
         {"valloc", "pvalloc", "tc_valloc"}},
	{LIB "libmimalloc.so.2",
         {"malloc", "mi_heap_malloc", "mi_heap_malloc_aligned_at",
          "mi_reallocarray", "mi_posix_memalign", "mi_zalloc",
          "mi_new_nothrow"},
         {"aligned_alloc", "mi_aligned_alloc", "mi_malloc_aligned", "memalign",
          "reallocarray", "valloc", "mi_pvalloc", "_ZnwmRKSt9nothrow_t",
          "mi_free_size"}},
	{"/usr/lib/x86_64-linux-musl/libc.so",
         {"malloc", "calloc", "realloc", "aligned_alloc", "free"},
         {"memalign", "reallocarray", "valloc"}},
};

static void
find(const char *path, struct elf_image **e, struct allocator *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	ck_assert_int_eq(elf_open_fd(fd, e), 0);
	ck_assert_int_eq(allocator_find(*e, out), 0);
}

struct wanted {
	const char *name;
	uint64_t vaddr;
};

static void
take(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct wanted *w = arg;

	if (sym->st_shndx != SHN_UNDEF && !strcmp(name, w->name))
		w->vaddr = sym->st_value;
}

static bool
is_watched(const struct elf_image *e, const struct allocator *a,
           const char *name)
{
	struct wanted w = {.name = name};

	ck_assert_int_eq(elf_symbols(e, SHT_DYNSYM, take, &w), 0);
	ck_assert_msg(w.vaddr != 0, "%s", name);
	return allocator_has(a, w.vaddr);
}

TEST(a_call_is_watched_once_wherever_it_enters)
{
	for (size_t i = 0; i < ARRAY_LEN(allocators); i++) {
		CLEANUP_ELF struct elf_image *e = NULL;
		const char *path = allocators[i].path, *name;
		struct allocator a;

		find(path, &e, &a);
		for (size_t k = 0; k < MOST; k++) {
			name = allocators[i].watched[k];
			ck_assert_msg(!name || is_watched(e, &a, name),
			              "%s: %s", path, name);
			name = allocators[i].others[k];
			ck_assert_msg(!name || !is_watched(e, &a, name),
			              "%s: %s", path, name);
		}
	}
}
END

TEST(every_function_of_five_allocators_can_be_watched)
{
	for (size_t i = 0; i < ARRAY_LEN(allocators); i++) {
		CLEANUP_ELF struct elf_image *e = NULL;
		struct allocator a;

		find(allocators[i].path, &e, &a);
		ck_assert_msg(!*a.unwatched && !a.unreleased, "%s: %s",
		              allocators[i].path, a.unwatched);
	}
}
END

/* An allocator of the family je_, in this program. The kernel emulates the
 * first instruction of je_malloc, and no instruction of the others. */
void je_malloc(void), je_valloc(void), je_free(void);

__attribute__((naked, noinline, used)) void
je_malloc(void)
{
	__asm__ volatile("push %rbp; pop %rbp; ret");
}

__attribute__((naked, noinline, used)) void
je_valloc(void)
{
	__asm__ volatile("xor %eax, %eax; ret");
}

__attribute__((naked, noinline, used)) void
je_free(void)
{
	__asm__ volatile("xor %eax, %eax; ret");
}

/* A function of each allocator that gets memory from the kernel. */
#define HIDDEN(function, of)                                               \
	__asm__(".pushsection .text; .globl " function "; .type " function \
	        ", @function; " function ": ret; .size " function          \
	        ", 1; .popsection");
#include "capture/probes/allocators.def"
#undef HIDDEN

TEST(each_allocator_that_is_not_watched_is_told)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	uint32_t all = 0;
	struct allocator a;

#define HIDDEN(function, of) all |= UINT32_C(1) << QUALITY_HIDDEN_##of;
#include "capture/probes/allocators.def"
#undef HIDDEN
	find("/proc/self/exe", &e, &a);
	ck_assert_uint_eq(a.hidden, all);
}
END

TEST(functions_that_cannot_be_watched_are_named)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	struct allocator a;

	find("/proc/self/exe", &e, &a);
	ck_assert_str_eq(a.unwatched, "je_valloc, je_free");
	ck_assert(a.unreleased);
	ck_assert_uint_eq(a.n, 1);
}
END

SUITE("allocators");
