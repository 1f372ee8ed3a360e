/* Reads files that always exist: this program and its C library. */
#include "capture/elf/elf.h"
#include "capture/symbols/symtab.h"
#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <lzma.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

struct file {
	char *p;
	size_t n;
};

static struct file
slurp(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct file f = {.n = (size_t)lseek(fd, 0, SEEK_END)};

	ck_assert_int_ge(fd, 0);
	f.p = malloc(f.n);
	ck_assert_int_eq(pread(fd, f.p, f.n, 0), (ssize_t)f.n);
	return f;
}

static struct elf_image *
open_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	return e;
}

static Elf64_Ehdr *
header(struct file *f)
{
	return (Elf64_Ehdr *)f->p;
}

static int
find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

static const char *
libc_path(void)
{
	static char path[4096];

	ck_assert_int_eq(dl_iterate_phdr(find_libc, path), 1);
	return path;
}

TEST(an_image_tells_its_segments_sections_and_build_id)
{
	CLEANUP_ELF struct elf_image *e = open_image(libc_path());

	ck_assert_uint_gt(e->nsegments, 3);
	ck_assert_uint_eq(e->build_id_size, 20);
	ck_assert_ptr_nonnull(elf_segment(e, PT_GNU_EH_FRAME, 0));
	ck_assert_ptr_null(elf_segment(e, PT_GNU_EH_FRAME, 1));
	ck_assert_ptr_nonnull(elf_section(e, ".text"));
	ck_assert_ptr_null(elf_section(e, ".bss"));
	ck_assert_ptr_null(elf_section(e, ".tex"));
	ck_assert_ptr_nonnull(elf_section_typed(e, SHT_DYNSYM));
}
END

TEST(offsets_and_addresses_map_both_ways)
{
	CLEANUP_ELF struct elf_image *e = open_image(libc_path());
	const struct elf_section *s = elf_section(e, ".text");
	uint64_t offset, vaddr, left;

	ck_assert(elf_offset_of(e, s->vaddr + 5, &offset, &left));
	ck_assert_uint_eq(offset, s->offset + 5);
	ck_assert_uint_ge(left, s->size - 5);
	ck_assert(elf_vaddr_of(e, offset, &vaddr));
	ck_assert_uint_eq(vaddr, s->vaddr + 5);
	ck_assert(!elf_offset_of(e, UINT64_MAX, &offset, &left));
	ck_assert(!elf_vaddr_of(e, UINT64_MAX, &vaddr));
}
END

/* Takes the bias that the loader chose for this program. */
static int
first_bias(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

TEST(the_bias_of_a_mapping_is_the_loaders)
{
	CLEANUP_ELF struct elf_image *e = open_image("/proc/self/exe");
	uint64_t want, bias, page = (uint64_t)getpagesize();
	const struct elf_segment *s = NULL;
	uint64_t offset, start;

	dl_iterate_phdr(first_bias, &want);
	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		if (s->flags & PF_X)
			break;
	ck_assert_ptr_nonnull(s);
	offset = s->offset & ~(page - 1);
	start = want + s->vaddr - (s->offset - offset);
	ck_assert_int_eq(elf_bias(e, start, offset, PF_X, &bias), 0);
	ck_assert_uint_eq(bias, want);
	/* a later part of the same mapping */
	ck_assert_int_eq(elf_bias(e, start + page, offset + page, PF_X, &bias),
	                 0);
	ck_assert_uint_eq(bias, want);
	ck_assert_int_eq(elf_bias(e, start, e->size + page, PF_X, &bias),
	                 -ENOENT);
}
END

/* Linkers may let two segments share a page of the file. */
TEST(the_bias_of_a_shared_page_is_that_of_the_segment_mapped_there)
{
	struct elf_image e = {
		.type = ET_EXEC,
		.nsegments = 4,
		.segments = {{PT_LOAD, PF_R, 0, 0x400000, 0x200, 0x200, 0x1000},
	                     {PT_LOAD, PF_R | PF_X, 0x1200, 0x901200, 0xa00,
	                      0xa00, 0x1000},
	                     {PT_LOAD, PF_R | PF_X, 0x1c00, 0x403c00, 0x500,
	                      0x500, 0x1000},
	                     {PT_LOAD, PF_R | PF_W, 0x2100, 0x405100, 0x100,
	                      0x100, 0x1000}},
	};
	uint64_t bias;

	for (uint32_t i = 0; i < e.nsegments; i++) {
		const struct elf_segment *s = &e.segments[i];

		ck_assert_int_eq(elf_bias(&e, s->vaddr & ~UINT64_C(0xfff),
		                          s->offset & ~UINT64_C(0xfff),
		                          s->flags & PF_X, &bias),
		                 0);
		ck_assert_uint_eq(bias, 0);
	}
	/* At a place that the loader chose, the page at 0x2000 is data. */
	e.type = ET_DYN;
	ck_assert_int_eq(elf_bias(&e, 0x7f0000405000, 0x2000, 0, &bias), 0);
	ck_assert_uint_eq(bias, 0x7f0000000000);
}
END

static bool
has_function(const struct elf_image *e, const char *name)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct symtab t;

	ck_assert_int_eq(symtab_build(e, NULL, &bytes), 0);
	ck_assert_int_eq(
		symtab_open(&(struct symbols_piece){bytes.p, bytes.len}, &t),
		0);
	for (uint32_t i = 0; i < t.n; i++)
		if (!strcmp(symtab_lookup(&t, t.rows[i].start), name))
			return true;
	return false;
}

TEST(programs_are_told_from_libraries)
{
	CLEANUP_ELF struct elf_image *self = open_image("/proc/self/exe");
	CLEANUP_ELF struct elf_image *libc = open_image(libc_path());

	ck_assert(self->is_program);
	ck_assert(!libc->is_program); /* though it can be run */
}
END

TEST(without_section_headers_all_but_sections_is_found)
{
	struct file f = slurp(libc_path());
	CLEANUP_ELF struct elf_image *whole = NULL, *cut = NULL;

	ck_assert_int_eq(elf_open_memory(f.p, f.n, &whole), 0);
	header(&f)->e_shoff = 0;
	ck_assert_int_eq(elf_open_memory(f.p, f.n, &cut), 0);
	ck_assert(!whole->no_headers && cut->no_headers);
	ck_assert_uint_eq(cut->build_id_size, whole->build_id_size);
	ck_assert_mem_eq(cut->build_id, whole->build_id, cut->build_id_size);
	ck_assert(has_function(whole, "qsort"));
	ck_assert(has_function(cut, "qsort"));
	free(f.p);
}
END

/* Puts more at the end of f as its .gnu_debugdata, in place of the debug link
 * that stripping left. Returns false if f has no debug link. */
static bool
embed(struct file *f, const uint8_t *more, size_t n)
{
	static const char old[] = ".gnu_debuglink";
	Elf64_Shdr *s = (Elf64_Shdr *)(f->p + header(f)->e_shoff);
	char *names = f->p + s[header(f)->e_shstrndx].sh_offset;
	unsigned i = 0;

	while (i < header(f)->e_shnum && strcmp(names + s[i].sh_name, old) != 0)
		i++;
	if (i == header(f)->e_shnum)
		return false;
	strcpy(names + s[i].sh_name, ".gnu_debugdata");
	s[i].sh_offset = f->n;
	s[i].sh_size = n;
	f->p = realloc(f->p, f->n + n);
	memcpy(f->p + f->n, more, n);
	f->n += n;
	return true;
}

static size_t
pack(const struct file *f, uint8_t **out)
{
	size_t max = lzma_stream_buffer_bound(f->n), n = 0;

	*out = malloc(max);
	ck_assert_int_eq(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL,
	                                         (uint8_t *)f->p, f->n, *out,
	                                         &n, max),
	                 LZMA_OK);
	return n;
}

struct scanned {
	const struct elf_image *elf;
	size_t n;
};

static void
find_again(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct elf_wanted rows[] = {{.name = name}, {.name = "no_such_name"}};
	struct scanned *s = arg;

	if (sym->st_shndx == SHN_UNDEF || !*name)
		return;
	ck_assert_int_eq(elf_find_symbols(s->elf, SHT_DYNSYM, rows, 2), 0);
	ck_assert_msg(rows[0].value == sym->st_value &&
	                      rows[0].size == sym->st_size,
	              "%s: 0x%lx, not 0x%lx", name, (long)rows[0].value,
	              (long)sym->st_value);
	ck_assert_uint_eq(rows[1].value, 0);
	s->n++;
}

TEST(dynamic_symbols_are_found_by_either_table_of_hashes)
{
	static const char *const styles[] = {"gnu", "sysv", "both"};

	for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
		char path[] = "/tmp/stoker-hashes-XXXXXX", command[256];
		CLEANUP_ELF struct elf_image *e = NULL;
		int fd = mkstemp(path);
		struct scanned s = {0};

		ck_assert_int_ge(fd, 0);
		close(fd);
		snprintf(command, sizeof(command),
		         "gcc -w -shared -fPIC -Wl,--hash-style=%s -o %s "
		         "-Iinclude -Iapp app/base/buf.c",
		         styles[i], path);
		ck_assert_int_eq(system(command), 0);
		e = open_image(path);
		unlink(path);
		s.elf = e;
		ck_assert_int_eq(elf_symbols(e, SHT_DYNSYM, find_again, &s), 0);
		ck_assert_uint_ge(s.n, 10);
	}
}
END

TEST(functions_of_gnu_debugdata_join_the_dynamic_ones)
{
	struct file f = slurp(libc_path()), inner = slurp("/proc/self/exe");
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_FREE uint8_t *packed = NULL;
	size_t n = pack(&inner, &packed);

	if (!embed(&f, packed, n))
		SKIP("this C library has no debug link to replace");
	ck_assert_int_eq(elf_open_memory(f.p, f.n, &e), 0);
	ck_assert(has_function(e, "qsort"));
	ck_assert(has_function(e, "has_function"));
	free(inner.p);
	free(f.p);
}
END

TEST(gnu_debugdata_that_is_no_xz_or_too_much_is_refused)
{
	struct file zeros = {calloc(1, ELF_MAX_DEBUGDATA + 1),
	                     ELF_MAX_DEBUGDATA + 1};
	CLEANUP_FREE uint8_t *packed = NULL;
	size_t n = pack(&zeros, &packed);
	const struct {
		uint8_t flip; /* XORed into the magic number */
		size_t size;
		int error;
	} rows[] = {{0, n, -E2BIG}, {1, n, -EINVAL}, {0, 99, -EINVAL}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct file f = slurp(libc_path());
		CLEANUP_ELF struct elf_image *e = NULL;
		struct elf_image *none = NULL;

		packed[0] ^= rows[i].flip;
		if (!embed(&f, packed, rows[i].size))
			SKIP("this C library has no debug link to replace");
		ck_assert_int_eq(elf_open_memory(f.p, f.n, &e), 0);
		ck_assert_int_eq(elf_open_debugdata(e, &none), rows[i].error);
		ck_assert(has_function(e, "qsort"));
		packed[0] ^= rows[i].flip;
		free(f.p);
	}
	free(zeros.p);
}
END

TEST(the_vdso_is_read_from_memory)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	CLEANUP_ELF struct elf_image *e = NULL;

	if (!vdso)
		SKIP("this kernel maps no vdso");
	ck_assert_int_eq(elf_open_memory(vdso, 4096, &e), 0);
	ck_assert_uint_gt(e->nsegments, 0);
}
END

TEST(what_is_no_elf_of_ours_is_refused)
{
	struct file f = slurp("/proc/self/exe");
	static const struct {
		size_t at;
		char value;
	} bad[] = {
		{0, 'x'},
		{EI_CLASS, ELFCLASS32},
		{EI_DATA, ELFDATA2MSB},
		{offsetof(Elf64_Ehdr, e_machine), EM_386},
		{offsetof(Elf64_Ehdr, e_phentsize), 1},
		{offsetof(Elf64_Ehdr, e_phnum), 65},
	};
	struct elf_image *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char kept = f.p[bad[i].at];

		f.p[bad[i].at] = bad[i].value;
		ck_assert_int_eq(elf_open_memory(f.p, f.n, &e), -ENOEXEC);
		f.p[bad[i].at] = kept;
	}
	ck_assert_int_eq(elf_open_memory(f.p, sizeof(Elf64_Ehdr) - 1, &e),
	                 -ENOEXEC);
	ck_assert_ptr_null(e);
	free(f.p);
}
END

TEST(a_directory_is_refused_and_stays_the_callers)
{
	CLEANUP_FD int fd = open("/", O_RDONLY | O_CLOEXEC);
	struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), -ENOEXEC);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
}
END

TEST(a_file_cut_short_under_us_is_an_error_not_a_signal)
{
	struct file f = slurp("/proc/self/exe");
	int fd = memfd_create("elf", MFD_CLOEXEC);
	CLEANUP_ELF struct elf_image *e = NULL;
	char byte;

	ck_assert_int_eq(write(fd, f.p, f.n), (ssize_t)f.n);
	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	ck_assert_int_eq(elf_read(e, f.n - 1, &byte, 1), 0);
	ck_assert_int_eq(elf_read(e, f.n, &byte, 1), -EIO);
	ck_assert_int_eq(elf_read(e, UINT64_MAX, &byte, 1), -EIO);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(elf_read(e, f.n - 1, &byte, 1), -EIO);
	free(f.p);
}
END

TEST(a_copy_is_bounded_and_terminated)
{
	CLEANUP_ELF struct elf_image *e = open_image("/proc/self/exe");
	CLEANUP_FREE void *p = NULL;

	ck_assert_int_eq(elf_copy(e, 0, 5, 4, &p), -E2BIG);
	ck_assert_int_eq(elf_copy(e, e->size, 1, 4, &p), -EIO);
	ck_assert_ptr_null(p);
	ck_assert_int_eq(elf_copy(e, 1, 3, 3, &p), 0);
	ck_assert_str_eq(p, "ELF");
}
END

/* An image with nothing but a link to a file of debug information. */
struct linked {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[48];
	char link[3 * ELF_MAX_PATH];
};
enum link { DEBUG_LINK = 1, ALT_LINK = 26 }; /* places in names[] */

static struct elf_image *
linked_by(enum link kind, const void *link, size_t n, size_t bytes)
{
	struct linked f = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
	                               ELFDATA2LSB, EV_CURRENT},
	                   .e_machine = EM_X86_64,
	                   .e_shoff = offsetof(struct linked, sections),
	                   .e_shentsize = sizeof(Elf64_Shdr),
	                   .e_shnum = 3,
	                   .e_shstrndx = 1},
		.sections = {{0},
	                     {.sh_name = 16,
	                      .sh_type = SHT_STRTAB,
	                      .sh_offset = offsetof(struct linked, names),
	                      .sh_size = sizeof(f.names)},
	                     {.sh_name = kind,
	                      .sh_type = SHT_PROGBITS,
	                      .sh_offset = offsetof(struct linked, link),
	                      .sh_size = bytes}},
		.names = "\0.gnu_debuglink\0.shstrtab\0.gnu_debugaltlink",
	};
	struct elf_image *e = NULL;

	memcpy(f.link, link, n);
	ck_assert_int_eq(elf_open_memory(&f, sizeof(f), &e), 0);
	return e;
}

static struct elf_image *
linked_to(const char *name, size_t bytes, uint32_t crc)
{
	char link[32] = "";
	size_t at = (strlen(name) + 4) & ~(size_t)3;

	strcpy(link, name);
	memcpy(link + at, &crc, sizeof(crc));
	return linked_by(DEBUG_LINK, link, sizeof(link), bytes);
}

/* Sections may overlap, so a small file could make the process that samples
 * read any amount. */
TEST(of_sections_that_overlap_without_end_few_are_read)
{
	enum { SECTIONS = 100, LAST = SECTIONS - 1 };
	struct {
		Elf64_Ehdr head;
		Elf64_Nhdr none, note;
		char owner[4], id[4];
		Elf64_Shdr sections[SECTIONS];
	} f = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
	                            ELFDATA2LSB},
	                .e_type = ET_DYN,
	                .e_machine = EM_X86_64,
	                .e_shoff = offsetof(typeof(f), sections),
	                .e_shentsize = sizeof(Elf64_Shdr),
	                .e_shnum = SECTIONS,
	                .e_shstrndx = 1},
	       .note = {4, 4, NT_GNU_BUILD_ID},
	       .owner = "GNU",
	       .id = "abc"};

	f.sections[1].sh_type = SHT_STRTAB;
	for (int last = 0; last < 2; last++) {
		CLEANUP_ELF struct elf_image *e = NULL;

		for (int i = 2; i < SECTIONS; i++)
			f.sections[i] = (Elf64_Shdr){
				.sh_type = SHT_NOTE,
				.sh_offset = offsetof(typeof(f), none),
				.sh_size = sizeof(f.none)};
		f.sections[last ? LAST : 9] =
			(Elf64_Shdr){.sh_type = SHT_NOTE,
		                     .sh_offset = offsetof(typeof(f), note),
		                     .sh_size = sizeof(f.note) +
		                                sizeof(f.owner) + sizeof(f.id)};
		ck_assert_int_eq(elf_open_memory(&f, sizeof(f), &e), 0);
		ck_assert_uint_eq(e->build_id_size, last ? 0 : 4);
	}
}
END

static void
see_none(void *arg, const Elf64_Sym *sym, const char *name)
{
	(void)arg, (void)sym, (void)name;
}

TEST(a_table_of_dynamic_symbols_is_bounded)
{
	CLEANUP_ELF struct elf_image *e = open_image(libc_path());

	ck_assert_int_eq(elf_symbols(e, SHT_DYNSYM, see_none, NULL), 0);
	for (uint32_t i = 0; i < e->nsections; i++)
		if (e->sections[i].type == SHT_DYNSYM)
			e->sections[i].size = 5 << 20;
	ck_assert_int_eq(elf_symbols(e, SHT_DYNSYM, see_none, NULL), -E2BIG);
}
END

TEST(a_debug_link_has_a_plain_name_and_a_crc)
{
	static const struct {
		const char *name;
		size_t bytes;
		int want;
	} rows[] = {
		{"a.debug", 12, 0},      {"a.debug", 11, -EINVAL},
		{"abc", 8, 0},           {"", 8, -EINVAL},
		{"..", 8, -EINVAL},      {".", 8, -EINVAL},
		{"../a", 12, -EINVAL},   {"/etc/a", 12, -EINVAL},
		{"unended", 7, -EINVAL},
	};
	char name[ELF_MAX_NAME];
	uint32_t crc;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_ELF struct elf_image *e =
			linked_to(rows[i].name, rows[i].bytes, 0x12345678);

		ck_assert_int_eq(elf_debuglink(e, name, &crc), rows[i].want);
		if (rows[i].want)
			continue;
		ck_assert_str_eq(name, rows[i].name);
		ck_assert_uint_eq(crc, 0x12345678);
	}
}
END

TEST(a_shared_debug_file_has_a_path_and_a_build_id)
{
	static char path[3 * ELF_MAX_PATH];
	const size_t id = ELF_MAX_BUILD_ID;
	const struct {
		size_t path, bytes;
		int want;
	} rows[] = {
		{8, 8 + 1 + 20, 0},
		{8, 8 + 1 + id, 0},
		{8, 8 + 1 + id + 1, -EINVAL},
		{8, 8 + 1, -EINVAL}, /* no build-id */
		{8, 8, -EINVAL},     /* no end */
		{0, 1 + 20, -EINVAL},
		{ELF_MAX_PATH - 1, ELF_MAX_PATH + id, 0},
		{ELF_MAX_PATH, ELF_MAX_PATH + 1 + 20, -EINVAL},
		{8, ELF_MAX_PATH + id + 1,
	         -EINVAL}, /* longer than the path's buffer */
		{8, sizeof(path), -EINVAL},
	};
	struct elf_altlink got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_ELF struct elf_image *e = NULL;

		memset(path, 7, sizeof(path));
		memset(path, 'p', rows[i].path);
		path[rows[i].path] = '\0';
		e = linked_by(ALT_LINK, path, sizeof(path), rows[i].bytes);
		ck_assert_msg(elf_debugaltlink(e, &got) == rows[i].want,
		              "row %zu", i);
		if (rows[i].want)
			continue;
		ck_assert_uint_eq(strlen(got.name), rows[i].path);
		ck_assert_uint_eq(got.build_id_size,
		                  rows[i].bytes - rows[i].path - 1);
		ck_assert_uint_eq(got.build_id[0], 7);
	}
}
END

TEST(a_debug_file_matches_by_build_id_or_by_crc)
{
	CLEANUP_ELF struct elf_image *self = open_image("/proc/self/exe");
	CLEANUP_ELF struct elf_image *libc = open_image(libc_path());
	CLEANUP_ELF struct elf_image *debug = NULL, *right = NULL;
	CLEANUP_ELF struct elf_image *wrong = linked_to("a", 8, 1);
	/* CRC-32 of the 64 bytes below, by zlib's crc32() */
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
	                            ELFDATA2LSB, EV_CURRENT},
	                .e_machine = EM_X86_64};

	ck_assert_int_eq(elf_open_memory(&h, sizeof(h), &debug), 0);
	right = linked_to("a", 8, UINT32_C(0x2cc2d22b));
	ck_assert_int_eq(elf_debug_matches(self, self), 0);
	ck_assert_int_eq(elf_debug_matches(self, libc), -ESTALE);
	ck_assert_int_eq(elf_debug_matches(self, debug), -ESTALE);
	ck_assert_int_eq(elf_debug_matches(right, debug), 0);
	ck_assert_int_eq(elf_debug_matches(wrong, debug), -ESTALE);
	ck_assert_int_eq(elf_debug_matches(debug, libc), -ESTALE);
}
END

SUITE("elf");
