/*
 * Out of memory, at every single allocation: building, writing, reading and
 * drawing fail with -ENOMEM, or succeed without it, and leak nothing.
 *
 * This program replaces malloc and its kin with functions that call glibc's.
 * Sanitizers replace them, too, so this test does nothing then.
 */
#include "capture/recorder/trie.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/diff.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "profile/summary.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define NEVER LONG_MAX

static long left = NEVER; /* allocations before one fails */
static long alive;        /* allocated and not yet freed, while counting */
static bool failed;

#if !SANITIZED
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static bool
refuse(void)
{
	if (left == NEVER)
		return false;
	if (left-- > 0)
		return false;
	left = 0; /* every later one fails, too */
	failed = true;
	return true;
}

void *
malloc(size_t n)
{
	if (refuse())
		return NULL;
	alive++;
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	if (refuse())
		return NULL;
	alive++;
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	if (refuse())
		return NULL;
	alive += !p;
	return __libc_realloc(p, n);
}

void
free(void *p)
{
	alive -= p != NULL;
	__libc_free(p);
}
#endif

/* Runs act with the nth allocation failing, for every n that it reaches. */
static void
check_all_failures(int (*act)(void *), void *arg)
{
	long n = 0, before;
	int r;

	do {
		failed = false;
		before = alive;
		left = n++;
		r = act(arg);
		left = NEVER;
		ck_assert_int_eq(r, failed ? -ENOMEM : 0);
		ck_assert_int_eq(alive, before);
	} while (failed);
	ck_assert_int_gt(n, 1);
}

static int
build(void *arg)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	int64_t v[] = {1};
	char name[16];
	int r = p ? profile_type(p, "samples", "count") : -ENOMEM;

	(void)arg;
	for (uint32_t i = 0; !r && i < 100; i++) {
		struct function f = {0};
		struct line line = {0};
		struct label label = {.num = i};
		uint32_t at;

		snprintf(name, sizeof(name), "function %u", i);
		r = profile_cstring(p, name, &f.name);
		if (!r)
			r = profile_function(p, &f, &line.function);
		if (!r)
			r = profile_location(p, PROFILE_NONE, i, &line, 1, &at);
		if (!r)
			r = profile_sample(p, &at, 1, &label, 1, v);
	}
	return r;
}

static int
encode(void *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);

	return pprof_encode(p, &file);
}

static int
decode(void *file)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct buf *b = file;

	return pprof_decode(b->p, b->len, BUF_MAX_SMALL, &p, &why);
}

static int
pack(void *p)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_PROFILE struct profile *got = NULL;
	int r = merge_new(BUF_MAX_REPLY, &m);

	return r                         ?: merge_add(m, p)
	                 ?: merge_encode(m, &file)
	                 ?: packed_decode(file.p, file.len, BUF_MAX_SMALL, &k,
	                                  &why)
	                 ?: merge_add_packed(m, &k)
	                 ?: packed_profile(&k, BUF_MAX_SMALL, &got);
}

static int
draw(void *p)
{
	static const struct export_meta meta = {
		.title = "t", .id = "i", .service = "s", .type = "cpu"};
	CLEANUP_TREE struct tree *t = NULL;
	int r = tree_new(p, 1, &t);

	for (size_t i = 0; !r && i < nformats; i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

		r = formats[i].write(t, &meta, &out);
	}
	if (!r) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		r = summary_top(t, 0, &out);
	}
	return r;
}

static bool tested; /* some node was tested and found sure */

/* Profiles in which one function costs more, cut into blocks by nodes. */
static int
side_of(struct profile *p, struct tree **t, struct blocks **nodes)
{
	CLEANUP_TIMELINE struct timeline *line = timeline_new();
	int r = line ? tree_new(p, 1, t) : -ENOMEM;

	if (!r)
		r = timeline_thread(line, &(struct timeline_thread){0});
	for (uint32_t i = 0; i < 2 * BLOCKS_SAMPLES && !r; i++)
		r = timeline_sample(line, &(struct timeline_sample){
						  .time_us = i,
						  .weight_ns = 1,
						  .sample = i % p->nsamples});
	return r ?: blocks_of_timeline(*t, line, BLOCKS_OF_NODES, nodes);
}

static int
differ(void *arg)
{
	struct profile *const *p = arg;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_TREE struct tree *u = NULL;
	CLEANUP_BLOCKS struct blocks *b = NULL;
	CLEANUP_BLOCKS struct blocks *n = NULL;
	CLEANUP_COMPARISON struct comparison *c = NULL;
	CLEANUP_DIFF struct diff *d = NULL;
	struct compare_side sides[2] = {{.seconds = 1}, {.seconds = 1}};
	int r = side_of(p[0], &t, &b) ?: side_of(p[1], &u, &n);

	sides[0].tree = t;
	sides[1].tree = u;
	sides[0].nodes = b;
	sides[1].nodes = n;
	if (!r)
		r = compare_new(&sides[0], &sides[1], false, COMPARE_BY_SHARE,
		                &c);
	if (!r)
		r = diff_new(&sides[0], &sides[1], c, &d);
	tested = !r && d->sure[2];
	return r;
}

TEST(a_profile_half_built_is_freed)
{
	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	check_all_failures(build, NULL);
}
END

TEST(a_file_half_written_is_freed)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	check_all_failures(encode, p);
}
END

TEST(a_file_half_read_is_freed)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	check_all_failures(decode, &file);
}
END

TEST(a_sum_half_packed_is_freed)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	check_all_failures(pack, p);
}
END

TEST(a_tree_half_drawn_is_freed)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;a 1\nmain;b@/lib/b.so 2\n");

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	ck_assert_int_eq(profile_location(p, 0, 7, NULL, 0, &p->stack[0]), 0);
	check_all_failures(draw, p);
}
END

TEST(a_diff_half_made_is_freed)
{
	CLEANUP_PROFILE struct profile *base =
		profile_of("main;a 1000\nmain;b 1000\n");
	CLEANUP_PROFILE struct profile *now =
		profile_of("main;a 2000\nmain;b 1000\n");
	struct profile *both[] = {base, now};

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	check_all_failures(differ, both);
	ck_assert(tested);
}
END

TEST(a_tree_that_gets_no_more_memory_folds_stacks_and_keeps_their_number)
{
	static const struct place overflow = {2, 0};
	CLEANUP(trie_done) struct trie t = {0};
	uint64_t counted = 0, refused = 0;
	const struct amount seven = {.value = 7, .events = AMOUNT_EVENT};
	uint32_t node;

	if (SANITIZED)
		SKIP("a sanitizer owns malloc");
	ck_assert_int_eq(trie_init(&t, TRIE_MAX_NODES), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		struct place at = {5, i};

		if (i == 20000)
			left = 0;
		refused += trie_count(&t, &at, 1, NULL, overflow, &seven,
		                      &node) != 0;
	}
	left = NEVER;
	ck_assert_uint_eq(refused, 0);
	for (uint32_t i = 0; i < t.nodes.n && i < t.counts_cap; i++)
		counted += t.counts[i].events / AMOUNT_EVENT;
	ck_assert(failed);
	ck_assert_uint_eq(counted, 100000);
	ck_assert_int_eq(t.total.value, 700000);
	ck_assert_uint_gt(t.folded, 0);
	ck_assert_uint_lt(t.folded, 80000);
}
END

SUITE("profile_oom");
