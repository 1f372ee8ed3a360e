/* Lists of buckets in the memory of a Go program, which this test makes up. */
#include "capture/buckets/bucket_read.h"

#include "lib/memory_image.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define BASE  UINT64_C(0xc000000000)
#define AT(i) (BASE + (i) * sizeof(uint64_t))

enum { BLOCK = 2, MEMORY = 1 };  /* types, as the runtime numbers them */
enum { FIRST = 2, SECOND = 20 }; /* words where buckets begin */

/* The head of the list, the cycle, then buckets. */
static uint64_t words[64];

/* Puts a bucket with a stack of two frames; returns the index of its counts. */
static uint64_t *
put(uint64_t at, uint64_t type, uint64_t next)
{
	const uint64_t bucket[] = {0,  next, type,        0,
	                           16, 2,    0x1000 + at, 0x2000};

	memcpy(&words[at], bucket, sizeof(bucket));
	return &words[at + 8];
}

static int
read_list(enum go_list list, unsigned minor, size_t n, struct go_buckets *out)
{
	struct memory_image image = {BASE, (const void *)words, n * 8};
	struct host host = memory_image_host(&image);
	const struct memory memory = {.host = &host, .pid = 1};
	struct go_profiles p = {.mem = &memory, .cycle = AT(1), .minor = minor};

	*out = (struct go_buckets){0};
	words[0] = AT(FIRST);
	p.lists[list] = BASE;
	return go_buckets_read(&p, list, out);
}

static void
put_two_waits(uint64_t last)
{
	const double counts[] = {3, 4};
	uint64_t *first = put(FIRST, BLOCK, AT(SECOND));
	uint64_t *second = put(SECOND, BLOCK, last);

	memcpy(first, &counts[0], sizeof(*first));
	memcpy(second, &counts[1], sizeof(*second));
	first[1] = 70;
	second[1] = 80;
}

TEST(counts_and_stacks_of_a_list_are_read_in_its_order)
{
	CLEANUP(go_buckets_done) struct go_buckets b;

	put_two_waits(0);
	ck_assert_int_eq(read_list(GO_LIST_BLOCK, 22, 64, &b), 0);
	ck_assert_uint_eq(b.addrs.n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct go_bucket *one = go_bucket(&b, i);
		const uint64_t *stack = go_bucket_stack(&b, one);

		ck_assert(one->count == 3 + i && one->cycles == 70 + 10 * i);
		ck_assert_uint_eq(one->size, 16);
		ck_assert_uint_eq(one->nstack, 2);
		ck_assert_uint_eq(stack[0], 0x1000 + (i ? SECOND : FIRST));
		ck_assert_uint_eq(stack[1], 0x2000);
	}
}
END

TEST(a_list_that_leads_back_to_itself_is_refused)
{
	CLEANUP(go_buckets_done) struct go_buckets b;

	put_two_waits(AT(FIRST));
	ck_assert_int_eq(read_list(GO_LIST_BLOCK, 22, 64, &b), -EPROTO);
}
END

TEST(a_bucket_is_read_whole_or_refused)
{
	const size_t end = SECOND + 10;

	put_two_waits(0);
	for (size_t n = SECOND; n <= end; n++) {
		CLEANUP(go_buckets_done) struct go_buckets b;

		ck_assert_int_eq(read_list(GO_LIST_BLOCK, 22, n, &b),
		                 n < end ? -EPROTO : 0);
	}
}
END

TEST(a_bucket_of_another_list_is_refused)
{
	CLEANUP(go_buckets_done) struct go_buckets b;

	put_two_waits(0);
	ck_assert_int_eq(read_list(GO_LIST_MUTEX, 22, 64, &b), -EPROTO);
}
END

TEST(before_the_first_collection_all_that_was_allocated_counts)
{
	CLEANUP(go_buckets_done) struct go_buckets b;
	uint64_t *counts = put(FIRST, MEMORY, 0);

	memset(counts, 0, 16 * sizeof(*counts));
	counts[4 * 3] = 5; /* a cycle that has not ended yet */
	ck_assert_int_eq(read_list(GO_LIST_MEMORY, 22, 64, &b), 0);
	ck_assert_uint_eq(go_bucket(&b, 0)->published_allocs, 5);
}
END

TEST(after_a_collection_what_was_published_counts_and_this_cycle)
{
	CLEANUP(go_buckets_done) struct go_buckets b;
	uint64_t *counts = put(FIRST, MEMORY, 0);

	memset(counts, 0, 16 * sizeof(*counts));
	words[1] = 1 << 1; /* second cycle; bit 0: flushed */
	counts[0] = 7;
	counts[1] = 2;
	counts[2 * 2] = 10; /* since Go 1.27 a cycle has two words */
	counts[2 * 3] = 100;
	ck_assert_int_eq(read_list(GO_LIST_MEMORY, 27, 64, &b), 0);
	ck_assert_uint_eq(go_bucket(&b, 0)->published_allocs, 17);
	ck_assert_uint_eq(go_bucket(&b, 0)->published_frees, 2);
}
END

SUITE("bucket_read");
