#include "capture/rename.h"

#include "capture/elf/elf.h"

#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

static NOINLINE int
known_function(int x)
{
	sink = x;
	return sink + x;
}

/* Has this program as the debug file of every build-id. */
static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	*reply = (struct host_reply){0};
	*nfds = 0;
	if (ask->op != HOST_DEBUG || !arg) {
		reply->error = -ENOENT;
		return 0;
	}
	fds[(*nfds)++] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int
first_bias(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

static void
own_build_id(char out[2 * HOST_BUILD_ID + 1])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP_ELF struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	ck_assert_uint_gt(e->build_id_size, 0);
	ck_assert_uint_le(e->build_id_size, HOST_BUILD_ID);
	for (uint32_t i = 0; i < e->build_id_size; i++)
		sprintf(out + 2 * i, "%02x", e->build_id[i]);
}

/* One sample in known_function, which has no name yet. */
static struct profile *
unnamed(const char *build_id)
{
	struct profile *p = profile_new();
	struct mapping m = {.limit = UINT64_MAX};
	uint32_t mapping, location;
	uint64_t bias;
	int64_t value = 7;

	dl_iterate_phdr(first_bias, &bias);
	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, build_id, &m.build_id), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_location(p, mapping,
	                                  (uint64_t)known_function - bias, NULL,
	                                  0, &location),
	                 0);
	ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, &value), 0);
	return p;
}

static struct profile *
renamed(const struct profile *in, bool has_debug, struct quality *q)
{
	struct host host = {.ask = answer};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	struct profile *out = NULL;

	host.arg = has_debug ? (void *)&host : NULL;
	ck_assert_int_eq(rename_profile(&host, c, in, &out, q), 0);
	return out;
}

static void
write_folded(const struct profile *p, struct buf *out)
{
	static const struct export_meta meta = {.type = "cpu"};
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, out), 0);
}

TEST(a_debug_file_of_the_build_id_names_functions)
{
	char id[2 * HOST_BUILD_ID + 1] = "";
	struct quality q;

	sink = known_function(1);
	own_build_id(id);
	{
		CLEANUP_PROFILE struct profile *in = unnamed(id);
		CLEANUP_PROFILE struct profile *out = renamed(in, true, &q);
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		write_folded(out, &text);
		ck_assert_str_eq(buf_str(&text), "known_function 7\n");
		ck_assert_uint_eq(out->locations[0].address,
		                  in->locations[0].address);
	}
	ck_assert_int_eq(q.frames, 7);
	ck_assert_int_eq(q.symbolized, 7);
	ck_assert_int_eq(q.modules, 1);
}
END

TEST(one_of_another_build_id_does_not)
{
	static const char *const ids[] = {"", "0", "0011", "zz",
	                                  "00112233445566778899aabbccddeeff0011"
	                                  "22334455"};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		CLEANUP_PROFILE struct profile *in = unnamed(ids[i]);
		struct quality q;
		CLEANUP_PROFILE struct profile *out = renamed(in, true, &q);

		ck_assert_uint_eq(out->locations[0].nlines, 0);
		ck_assert_int_eq(q.symbolized, 0);
		ck_assert_int_eq(q.modules, 0);
	}
}
END

TEST(without_debug_files_a_profile_stays_as_it_is)
{
	CLEANUP_PROFILE struct profile *in =
		profile_of("main;work;f@libc.so 3\nmain;idle 1\nmain;work 2\n");
	struct quality q;
	CLEANUP_PROFILE struct profile *out = renamed(in, false, &q);
	CLEANUP_BUF struct buf a = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_uint_eq(out->nsamples, in->nsamples);
	ck_assert_uint_eq(out->nlocations, in->nlocations);
	ck_assert_int_eq(out->time_ns, in->time_ns);
	ck_assert_int_eq(out->period, in->period);
	for (uint32_t i = 0; i < in->nsamples * in->ntypes; i++)
		ck_assert_int_eq(out->values[i], in->values[i]);
	write_folded(in, &a);
	write_folded(out, &b);
	ck_assert_str_eq(buf_str(&a), buf_str(&b));
}
END

SUITE("rename", a_debug_file_of_the_build_id_names_functions,
      one_of_another_build_id_does_not,
      without_debug_files_a_profile_stays_as_it_is)
