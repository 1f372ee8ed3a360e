#include "capture/symbols/symbols_cache.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct symbols_key A = {.kind = SYMBOLS_TABLE, .image.ino = 1},
				B = {.kind = SYMBOLS_TABLE, .image.ino = 2},
				C = {.kind = SYMBOLS_TABLE, .image.ino = 3};

static void
add(struct symbols_cache *c, const struct symbols_key *key, size_t n)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(n);
	struct symbols_piece p;

	for (size_t i = 0; i < n; i++)
		buf_putc(&bytes, (char)i);
	ck_assert_int_eq(symbols_cache_add(c, key, &bytes, &p), 0);
	ck_assert_uint_eq(p.n, n);
}

static bool
has(struct symbols_cache *c, const struct symbols_key *key)
{
	struct symbols_piece p;

	return symbols_cache_find(c, key, &p);
}

/* Adds the news that a child with this cache would send. */
static int
learn_from(struct symbols_cache *parent, const struct symbols_cache *child)
{
	CLEANUP_FD int fd = memfd_create("news", MFD_CLOEXEC);

	ck_assert_int_eq(symbols_cache_send(child, fd), 0);
	return symbols_cache_learn(parent, fd);
}

TEST(a_piece_is_found_under_its_whole_key)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(9 * SYMBOLS_ENTRY);
	struct symbols_key other = A;
	struct symbols_piece p;

	add(c, &A, 3);
	ck_assert(symbols_cache_find(c, &A, &p));
	ck_assert_mem_eq(p.p, "\0\1\2", 3);
	other.debug.changed_ns = 1;
	ck_assert(!has(c, &other));
}
END

TEST(what_a_child_tells_its_parent_keeps)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(9 * SYMBOLS_ENTRY);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *child =
		symbols_cache_new(9 * SYMBOLS_ENTRY);
	struct symbols_piece p;

	add(child, &A, 3);
	add(child, &B, 0); /* it is worth knowing that nothing is there */
	ck_assert_int_eq(learn_from(c, child), 0);
	ck_assert_int_eq(learn_from(c, child), 0);
	ck_assert_uint_eq(symbols_cache_bytes(c), 3 + 2 * SYMBOLS_ENTRY);
	ck_assert(symbols_cache_find(c, &A, &p));
	ck_assert_mem_eq(p.p, "\0\1\2", 3);
	ck_assert(symbols_cache_find(c, &B, &p));
	ck_assert_uint_eq(p.n, 0);
}
END

TEST(what_was_not_used_for_longest_goes_first)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(10 + 2 * SYMBOLS_ENTRY);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *first =
		symbols_cache_new(100 * SYMBOLS_ENTRY);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *second =
		symbols_cache_new(100 * SYMBOLS_ENTRY);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *third =
		symbols_cache_new(100 * SYMBOLS_ENTRY);

	add(first, &A, 5);
	ck_assert_int_eq(learn_from(c, first), 0);
	add(second, &B, 5);
	ck_assert_int_eq(learn_from(c, second), 0);
	ck_assert_int_eq(learn_from(c, first), 0); /* A is used again */
	add(third, &C, 1);
	ck_assert_int_eq(learn_from(c, third), 0);
	ck_assert(has(c, &A));
	ck_assert(!has(c, &B));
	ck_assert(has(c, &C));
	ck_assert_uint_eq(symbols_cache_bytes(c), 6 + 2 * SYMBOLS_ENTRY);
}
END

#define HALF (2 * SYMBOLS_ENTRY)

TEST(a_piece_above_half_the_bound_is_not_handed_on)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(2 * HALF);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *child =
		symbols_cache_new(2 * HALF);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *careless =
		symbols_cache_new(100 * SYMBOLS_ENTRY);

	add(child, &A, HALF + 1);
	add(child, &B, HALF);
	ck_assert_int_eq(learn_from(c, child), 0);
	ck_assert(!has(c, &A));
	ck_assert(has(c, &B));
	add(careless, &A, HALF + 1);
	ck_assert_int_eq(learn_from(c, careless), 0);
	ck_assert(!has(c, &A));
}
END

/* Large pieces lie in another kind of memory. */
TEST(a_large_piece_is_kept_as_it_was_told)
{
	const size_t large = (size_t)1 << 20;
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(3 * large);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *first =
		symbols_cache_new(3 * large);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *second =
		symbols_cache_new(3 * large);
	struct symbols_piece p;

	add(first, &A, large + 1);
	ck_assert_int_eq(learn_from(c, first), 0);
	ck_assert(symbols_cache_find(c, &A, &p));
	ck_assert_uint_eq(p.n, large + 1);
	for (size_t i = 0; i < p.n; i++)
		ck_assert_uint_eq(((const uint8_t *)p.p)[i], (uint8_t)i);
	add(second, &B, large);
	add(second, &C, large);
	ck_assert_int_eq(learn_from(c, second), 0);
	ck_assert(!has(c, &A));
	ck_assert(has(c, &B) && has(c, &C));
}
END

TEST(an_image_that_is_no_file_is_not_told_of)
{
	static const struct symbols_key vdso = {.kind = SYMBOLS_TABLE,
	                                        .image.size = 4};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
		symbols_cache_new(9 * SYMBOLS_ENTRY);
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *child =
		symbols_cache_new(9 * SYMBOLS_ENTRY);

	add(child, &vdso, 5);
	ck_assert_int_eq(learn_from(c, child), 0);
	ck_assert(!has(c, &vdso));
}
END

TEST(nonsense_from_a_child_is_refused_at_any_length)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *child =
		symbols_cache_new(9 * SYMBOLS_ENTRY);
	CLEANUP_FD int whole = memfd_create("whole", MFD_CLOEXEC);
	char bytes[512];
	ssize_t n;

	add(child, &A, 40);
	add(child, &B, 40);
	ck_assert_int_eq(symbols_cache_send(child, whole), 0);
	n = pread(whole, bytes, sizeof(bytes), 0);
	ck_assert_int_gt(n, 80);
	for (ssize_t cut = 1; cut < n; cut++) {
		CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
			symbols_cache_new(9 * SYMBOLS_ENTRY);
		CLEANUP_FD int fd = memfd_create("cut", MFD_CLOEXEC);

		ck_assert_int_eq(write(fd, bytes, (size_t)cut), cut);
		ck_assert_int_eq(symbols_cache_learn(c, fd),
		                 cut == n / 2 ? 0 : -EBADMSG);
		ck_assert_uint_le(symbols_cache_bytes(c), 40 + SYMBOLS_ENTRY);
	}
}
END

TEST(a_file_is_another_once_it_has_changed)
{
	char name[] = "/tmp/stoker-symbols-XXXXXX";
	CLEANUP_FD int fd = mkostemp(name, O_CLOEXEC);
	struct symbols_file before, after;

	ck_assert_int_ge(fd, 0);
	unlink(name);
	ck_assert(symbols_file_of(fd, &before));
	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert(symbols_file_of(fd, &after));
	ck_assert(memcmp(&before, &after, sizeof(before)) != 0);
	ck_assert(!symbols_file_of(-1, &after));
}
END

SUITE("symbols_cache");
