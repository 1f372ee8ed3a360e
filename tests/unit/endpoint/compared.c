/*
 * The second of two large profiles is read while the first is.
 */
#include "compare/compared.h"

#include "lib/stock.h"
#include "lib/wide.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STACKS 40000 /* 1.6 MB */
#define FEW    100
#define DEPTH  16
#define NAMES  500

static char *
upload(struct store *s, uint64_t seed, unsigned stacks, struct blob *b)
{
	CLEANUP_PROFILE struct profile *p =
		wide_profile(seed, stacks, DEPTH, NAMES);
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
	struct session_result r = test_result();
	struct session_ask ask = test_ask();
	char id[ID_MAX];

	ask.origin = SESSION_UPLOAD;
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(pprof_encode(p, &bytes), 0);
	ck_assert_int_eq(blob_put(s, BLOB_PPROF, bytes.p, bytes.len, &w, b), 0);
	ck_assert_int_eq(session_upload(s, &ask, &r, b, id), 0);
	return strdup(id);
}

static void
begin(struct store *s, unsigned stacks, struct compared *x, struct blob *now)
{
	struct blob base;

	*x = (struct compared){.store = s, .tenant = TEST_TENANT};
	x->base.id = upload(s, 1, stacks, &base);
	x->now.id = upload(s, 2, stacks, now);
}

TEST(the_second_of_two_large_profiles_is_read_by_a_thread)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROFILE struct profile *p =
		wide_profile(2, STACKS, DEPTH, NAMES);
	CLEANUP_TREE struct tree *expected = NULL;
	CLEANUP_COMPARED struct compared x;
	struct blob now;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("there is one CPU");
	begin(&t.s, STACKS, &x, &now);
	compared_begin(&x);
	ck_assert(compared_ready(&x));
	ck_assert_int_eq(tree_functions(p, 1, &expected), 0);
	ck_assert_uint_eq(x.trees[1]->n, expected->n);
	for (uint32_t i = 0; i < expected->n; i++) {
		ck_assert_int_eq(x.trees[1]->self[i], expected->self[i]);
		ck_assert_int_eq(x.trees[1]->total[i], expected->total[i]);
		ck_assert_str_eq(
			tree_name(x.trees[1], x.trees[1]->name[i], NULL),
			tree_name(expected, expected->name[i], NULL));
	}
	ck_assert_ptr_eq(x.sides[1].tree, x.trees[1]);
}
END

TEST(small_profiles_need_no_thread)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_COMPARED struct compared x;
	struct blob now;

	begin(&t.s, FEW, &x, &now);
	compared_begin(&x);
	ck_assert(!compared_ready(&x));
	ck_assert_ptr_null(x.profiles[1]);
}
END

/* The caller meets the damage when it reads the profile. */
TEST(a_damaged_profile_is_left_to_the_caller)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_COMPARED struct compared x;
	struct blob now;
	int fd;

	begin(&t.s, STACKS, &x, &now);
	fd = openat(t.s.profiles_fd, now.name, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, "damage", 6, 1000), 6);
	close(fd);
	compared_begin(&x);
	ck_assert(!compared_ready(&x));
	ck_assert_ptr_null(x.profiles[1]);
	ck_assert_ptr_null(x.trees[1]);
}
END

/* Nobody takes it if the first one cannot be read, or the client has gone. */
TEST(a_profile_that_nobody_takes_is_freed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_COMPARED struct compared x;
	struct blob now;

	begin(&t.s, STACKS, &x, &now);
	compared_begin(&x);
}
END

SUITE("compared");
