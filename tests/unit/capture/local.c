#include "capture/local.h"

#include "base/file.h"
#include "capture/elf/elf.h"
#include "lib/test.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MOST     64 /* mappings that this test keeps track of */

static volatile uint64_t sink;

static NOINLINE int
known_function(int x)
{
	sink = (uint64_t)x;
	return (int)sink + x;
}

/* The mappings of this program. */
struct here {
	struct import_code rows[MOST];
	char paths[MOST][256];
	size_t n;
};

static void
read_maps(struct here *h)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	h->n = 0;
	while (h->n < MOST && fgets(line, sizeof(line), f)) {
		struct import_code *c = &h->rows[h->n];
		unsigned long start, end, offset;
		char may[8], *path = h->paths[h->n];

		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end,
		           may, &offset, path) < 4 ||
		    may[2] != 'x')
			continue;
		*c = (struct import_code){start, end, offset, path, ""};
		h->n++;
	}
	fclose(f);
}

static bool
find(const void *arg, uint64_t address, struct import_code *out)
{
	const struct here *h = arg;

	for (size_t i = 0; i < h->n; i++)
		if (address >= h->rows[i].start && address < h->rows[i].end) {
			*out = h->rows[i];
			return true;
		}
	return false;
}

static const char *
own_path(char out[static 256])
{
	ssize_t n = readlink("/proc/self/exe", out, 255);

	ck_assert_int_gt(n, 0);
	out[n] = '\0';
	return out;
}

/* Makes a profile of one sample in known_function, at its address here. */
static struct profile *
unnamed(const char *path, const char *build_id)
{
	struct profile *p = profile_new();
	struct import_code code;
	struct mapping m = {0};
	uint32_t mapping, location;
	struct here h;
	int64_t value = 7;

	read_maps(&h);
	ck_assert(find(&h, (uint64_t)known_function, &code));
	m.start = code.start;
	m.limit = code.end;
	m.offset = code.offset;
	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, path, &m.file), 0);
	ck_assert_int_eq(profile_cstring(p, build_id, &m.build_id), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_location(p, mapping, (uint64_t)known_function,
	                                  NULL, 0, &location),
	                 0);
	ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, &value), 0);
	return p;
}

static void
own_build_id(char out[2 * ELF_MAX_BUILD_ID + 1])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP_ELF struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	ck_assert_uint_gt(e->build_id_size, 0);
	for (uint32_t i = 0; i < e->build_id_size; i++)
		sprintf(out + 2 * i, "%02x", e->build_id[i]);
}

/* Expects that a profile whose mapping has this path and build-id is named, or
 * is not. */
static void
expect(bool here, const char *add, const char *path, const char *build_id,
       bool named)
{
	CLEANUP_LOCAL_FILES struct local_files *f = local_files_new(here);
	CLEANUP_PROFILE struct profile *in = unnamed(path, build_id);
	CLEANUP_PROFILE struct profile *out = NULL;
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	struct local_names found;

	if (add)
		ck_assert_int_eq(local_files_add(f, add), 0);
	ck_assert_int_eq(local_name(f, in, &out, &found), 0);
	ck_assert_uint_eq(found.frames, 7);
	ck_assert_uint_eq(found.named, named ? 7 : 0);
	ck_assert_uint_eq(found.used, named ? 1 : 0);
	if (!named)
		return;
	profile_frame_name(out, 0, 0, &name);
	ck_assert_str_eq(buf_str(&name), "known_function");
	ck_assert(out->mappings[0].has_functions);
}

TEST(a_file_names_addresses_with_its_build_id)
{
	char id[2 * ELF_MAX_BUILD_ID + 1] = "", path[256];

	sink = (uint64_t)known_function(1);
	own_build_id(id);
	own_path(path);
	expect(false, path, "/srv/other", id, true);
	expect(false, NULL, path, id, true);
	id[0] = id[0] == '0' ? '1' : '0';
	expect(false, path, path, id, false);
}
END

/* Computes OpenTelemetry's htlhash of a file with OpenSSL. */
static void
htlhash(const char *path, char out[static 33])
{
	CLEANUP_BUF struct buf file = BUF_INIT((size_t)1 << 30);
	unsigned char ends[2 * 4096 + 8], sum[32];
	uint64_t length;

	ck_assert_int_eq(file_read(AT_FDCWD, path, &file), 0);
	ck_assert_uint_gt(file.len, 4096);
	length = htobe64(file.len);
	memcpy(ends, file.p, 4096);
	memcpy(ends + 4096, file.p + file.len - 4096, 4096);
	memcpy(ends + 8192, &length, sizeof(length));
	ck_assert(
		EVP_Digest(ends, sizeof(ends), sum, NULL, EVP_sha256(), NULL));
	for (int i = 0; i < 16; i++)
		sprintf(out + 2 * i, "%02x", sum[i]);
}

TEST(a_file_names_addresses_with_the_hash_of_its_ends)
{
	char id[33] = "", path[256];

	sink = (uint64_t)known_function(1);
	own_path(path);
	htlhash(path, id);
	expect(false, path, "/srv/other", id, true);
	expect(false, NULL, path, id, true);
	id[0] = id[0] == '0' ? '1' : '0';
	expect(false, path, path, id, false);
}
END

/* On another machine a path alone identifies no file. */
TEST(a_file_without_build_id_is_one_that_was_added_or_was_recorded_here)
{
	char path[256], folder[256], elsewhere[300];

	own_path(path);
	snprintf(elsewhere, sizeof(elsewhere), "/srv%s", path);
	expect(false, NULL, path, "", false);
	expect(true, NULL, path, "", true);
	expect(true, NULL, elsewhere, "", false);
	expect(false, path, elsewhere, "", true);
	strcpy(folder, path);
	*strrchr(folder, '/') = '\0';
	expect(false, folder, elsewhere, "", true);
	expect(false, path, "/srv/another", "", false);
}
END

TEST(what_is_added_is_a_program_or_a_folder)
{
	CLEANUP_LOCAL_FILES struct local_files *f = local_files_new(false);

	ck_assert_int_eq(local_files_add(f, "/etc/passwd"), -ENOEXEC);
	ck_assert_int_eq(local_files_add(f, "/nonexistent"), -ENOENT);
	ck_assert_int_eq(local_files_add(f, "/etc/security"), 0);
}
END

/* Unwinds from the current registers and stack, copied as perf copies them. */
static NOINLINE size_t
unwind_here(const struct import_unwinder *u, const struct here *h,
            uint64_t *pcs, size_t max)
{
	struct import_stack s = {.find = find, .arg = h, .space = 1};
	static char copy[32 << 10];
	ucontext_t c;

	getcontext(&c);
#ifdef __x86_64__
	s.regs[6] = (uint64_t)c.uc_mcontext.gregs[REG_RBP];
	s.regs[7] = (uint64_t)c.uc_mcontext.gregs[REG_RSP];
	s.regs[8] = (uint64_t)c.uc_mcontext.gregs[REG_RIP];
	s.bytes = (const void *)s.regs[7];
#else
	for (int i = 0; i < 31; i++)
		s.regs[i] = c.uc_mcontext.regs[i];
	s.regs[31] = c.uc_mcontext.sp;
	s.regs[32] = c.uc_mcontext.pc;
	s.bytes = (const void *)s.regs[31];
#endif
	memcpy(copy, s.bytes, 4096);
	s.bytes = copy;
	s.n = 4096;
	return u->unwind(u->arg, &s, pcs, max);
}

static bool
is_within(uint64_t pc, void *function)
{
	return pc - (uint64_t)function < 4096;
}

TEST(copied_stacks_are_unwound_by_the_files_they_ran)
{
	CLEANUP_LOCAL_FILES struct local_files *f = local_files_new(true);
	CLEANUP_LOCAL_STACKS struct local_stacks *stacks = local_stacks_new(f);
	struct import_unwinder u = local_unwinder(stacks);
	uint64_t pcs[64];
	static struct here h; /* not on the stack, which is copied */
	size_t n;

	read_maps(&h);
	n = unwind_here(&u, &h, pcs, 64);
	ck_assert_uint_ge(n, 3);
	ck_assert(is_within(pcs[0], unwind_here));
	/* libcheck's runner called this test */
	ck_assert_uint_ne(pcs[2], 0);
}
END

SUITE("local");
