/* Static probes at which a program reports its samples, in images made for
 * them. Those of a real program are in tests/e2e/inuse.sh. */
#include "capture/probes/memory_sampler.h"

#include "lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define AT        UINT64_C(0x401000) /* address of the image */
#define PROBE     UINT64_C(0x401010) /* a nop, before the image was moved */
#define SEMAPHORE UINT64_C(0x401020)
#define MOVED     UINT64_C(0x2000)
#define NAMES     "\0.note.stapsdt\0.stapsdt.base"
#define MOST      20

struct __attribute__((packed)) note {
	Elf64_Nhdr head;
	char owner[8];
	uint64_t at, base, semaphore;
	char strings[64];
};

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	struct note notes[MOST];
	char names[sizeof(NAMES)];
};

static void
make(struct image *m, size_t nnotes)
{
	*m = (struct image){
		.head = {.e_type = ET_DYN,
	                 .e_machine = EM_X86_64,
	                 .e_phoff = offsetof(struct image, segment),
	                 .e_phnum = 1,
	                 .e_phentsize = sizeof(m->segment),
	                 .e_shoff = offsetof(struct image, sections),
	                 .e_shnum = ARRAY_LEN(m->sections),
	                 .e_shentsize = sizeof(m->sections[0]),
	                 .e_shstrndx = 3},
		.segment = {.p_type = PT_LOAD,
	                    .p_flags = PF_R | PF_X,
	                    .p_vaddr = AT + MOVED,
	                    .p_filesz = sizeof(*m),
	                    .p_memsz = sizeof(*m)},
		.sections = {[1] = {.sh_name = 1,
	                            .sh_type = SHT_NOTE,
	                            .sh_offset = offsetof(struct image, notes),
	                            .sh_size = nnotes * sizeof(m->notes[0])},
	                     [2] = {.sh_name = 15,
	                            .sh_type = SHT_PROGBITS,
	                            .sh_addr = AT + MOVED},
	                     [3] = {.sh_type = SHT_STRTAB,
	                            .sh_offset = offsetof(struct image, names),
	                            .sh_size = sizeof(m->names)}},
		.names = NAMES,
	};
	memcpy(m->head.e_ident, ELFMAG "\2\1\1", 7);
}

/* The strings of a note, each with a NUL, and their size. */
#define STRINGS(provider, name, arguments) \
	provider "\0" name "\0" arguments, \
		sizeof(provider "\0" name "\0" arguments)

static void
set(struct note *to, const char *strings, size_t n)
{
	*to = (struct note){
		.head = {8, sizeof(*to) - offsetof(struct note, at), 3},
		.owner = "stapsdt",
		.at = PROBE,
		.base = AT,
		.semaphore = SEMAPHORE,
	};
	memcpy(to->strings, strings, n);
}

static int
find(const struct image *m, struct memory_sampler *out)
{
	CLEANUP_ELF struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_memory(m, sizeof(*m), &e), 0);
	return memory_sampler_find(e, out);
}

static bool
equal(const struct allocs_argument *a, const struct allocs_argument *b)
{
	return a->from == b->from && a->reg == b->reg && a->bytes == b->bytes &&
	       a->is_signed == b->is_signed && a->plus == b->plus;
}

TEST(arguments_are_found_wherever_a_compiler_leaves_them)
{
	static const struct {
		const char *text;
		size_t n;
		struct allocs_argument want[3];
	} cases[] = {
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%r15 -4@$-24"),
	         {{ALLOCS_REGISTER, 7, 8, 0, 0},
	          {ALLOCS_REGISTER, 15, 8, 0, 0},
	          {ALLOCS_CONSTANT, 0, 4, 1, -24}}},
		{STRINGS("otel_memory", "alloc",
	                 "8@-16(%rbp) 8@(%r8) -8@0x20(%rsp)"),
	         {{ALLOCS_MEMORY, 5, 8, 0, -16},
	          {ALLOCS_MEMORY, 8, 8, 0, 0},
	          {ALLOCS_MEMORY, 4, 8, 1, 32}}},
		{STRINGS("otel_memory", "alloc", "8@%rax 4@%r9d 1@%sil"),
	         {{ALLOCS_REGISTER, 0, 8, 0, 0},
	          {ALLOCS_REGISTER, 9, 4, 0, 0},
	          {ALLOCS_REGISTER, 6, 1, 0, 0}}},
		{STRINGS("otel_memory", "alloc", "8@%rbx 4@%ecx 2@%dx"),
	         {{ALLOCS_REGISTER, 3, 8, 0, 0},
	          {ALLOCS_REGISTER, 1, 4, 0, 0},
	          {ALLOCS_REGISTER, 2, 2, 0, 0}}},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct memory_sampler s;
		const struct allocs_sampled *is = &s.places[0].sampled;
		struct image m;

		make(&m, 1);
		set(&m.notes[0], cases[i].text, cases[i].n);
		ck_assert_int_eq(find(&m, &s), 0);
		ck_assert_uint_eq(s.n, 1);
		ck_assert_uint_eq(s.places[0].offset, PROBE - AT);
		ck_assert_uint_eq(s.places[0].counter, SEMAPHORE - AT);
		ck_assert(s.places[0].is_static && !s.releases);
		ck_assert(equal(&is->memory, &cases[i].want[0]));
		ck_assert(equal(&is->bytes, &cases[i].want[1]));
		ck_assert(equal(&is->weight, &cases[i].want[2]));
	}
}
END

TEST(releases_are_found_beside_allocations)
{
	struct memory_sampler s;
	struct image m;

	make(&m, 3);
	set(&m.notes[0], STRINGS("otel_memory", "free", "8@%rdi"));
	set(&m.notes[1], STRINGS("another", "alloc", "8@%rdi"));
	set(&m.notes[2],
	    STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@%rdx"));
	m.notes[2].semaphore = 0;
	ck_assert_int_eq(find(&m, &s), 0);
	ck_assert_uint_eq(s.n, 2);
	ck_assert(s.releases && s.places[0].releases && !s.places[1].releases);
	ck_assert_uint_eq(s.places[1].counter, 0);
	/* Without allocations there is nothing to release. */
	make(&m, 1);
	set(&m.notes[0], STRINGS("otel_memory", "free", "8@%rdi"));
	ck_assert_int_eq(find(&m, &s), -ENOENT);
}
END

TEST(probes_that_cannot_be_read_are_no_sampler)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi")},
		{STRINGS("otel_memory", "alloc",
	                 "8@%rdi 8@%rsi 8@%rdx 8@%rcx")},
		{STRINGS("otel_memory", "alloc",
	                 "8@%rdi 8@%rsi 8@(%rdx,%rcx,8)")},
		{STRINGS("otel_memory", "alloc",
	                 "8@%rdi 8@%rsi 8@sizes(%rip)")},
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 3@%rdx")},
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@%xmm0")},
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@%r16")},
		{STRINGS("otel_memory", "alloc",
	                 "8@%rdi 8@%rsi 8@$99999999999")},
		{STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@")},
		{STRINGS("otel_memory", "alloc", "")},
	};
	struct memory_sampler s;
	struct image m;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		make(&m, 1);
		set(&m.notes[0], cases[i].text, cases[i].n);
		ck_assert_msg(find(&m, &s) == -ENOENT, "%zu", i);
	}
	/* An address outside of the file. */
	make(&m, 1);
	set(&m.notes[0],
	    STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@%rdx"));
	m.notes[0].at = 1;
	ck_assert_int_eq(find(&m, &s), -ENOENT);
	/* Strings without an end, and a note that is longer than the rest. */
	m.notes[0].at = PROBE;
	memset(m.notes[0].strings, 'a', sizeof(m.notes[0].strings));
	ck_assert_int_eq(find(&m, &s), -ENOENT);
	m.notes[0].head.n_descsz = UINT32_MAX;
	ck_assert_int_eq(find(&m, &s), -EIO);
}
END

TEST(a_program_with_too_many_probes_is_watched_otherwise)
{
	struct memory_sampler s;
	struct image m;

	make(&m, ALLOCS_MOST_STATIC + 1);
	for (size_t i = 0; i <= ALLOCS_MOST_STATIC; i++)
		set(&m.notes[i],
		    STRINGS("otel_memory", "alloc", "8@%rdi 8@%rsi 8@%rdx"));
	ck_assert_int_eq(find(&m, &s), -E2BIG);
	m.sections[1].sh_size -= sizeof(m.notes[0]);
	ck_assert_int_eq(find(&m, &s), 0);
	ck_assert_uint_eq(s.n, ALLOCS_MOST_STATIC);
}
END

SUITE("memory_sampler");
