/* Growth of buckets between two readings of a program that this test makes
 * up. */
#include "capture/buckets/bucket_reading.h"

#include "base/clock.h"
#include "capture/buckets/bucket_rows.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define PID   7
#define BEGAN 1000

struct had {
	uint64_t addr, stack; /* stack: its one frame */
	uint64_t count;
};
#define END_OF_HAD                    \
	{                             \
		.addr = 0, .count = 0 \
	}

static struct go_buckets
buckets(const struct had *rows)
{
	struct go_buckets b = {.addrs = {.max = GO_MAX_BUCKETS},
	                       .rows = BUF_INIT(BUF_MAX_REPLY),
	                       .stacks = BUF_INIT(BUF_MAX_REPLY)};
	uint32_t i;

	for (; rows->addr; rows++) {
		struct go_bucket one = {
			.size = 16,
			.stack0 = (uint32_t)(b.stacks.len / sizeof(uint64_t)),
			.nstack = 1,
			.allocs = rows->count,
			.count = (double)rows->count,
			.cycles = (int64_t)rows->count * 1000};

		ck_assert_int_eq(pairs_intern(&b.addrs, 0, rows->addr, &i), 0);
		buf_add(&b.rows, &one, sizeof(one));
		buf_add(&b.stacks, &rows->stack, sizeof(rows->stack));
	}
	return b;
}

static void
read_into(struct buf *out, enum profile_type_id type, const struct had *rows)
{
	CLEANUP(go_buckets_done) struct go_buckets b = buckets(rows);

	*out = BUF_INIT(READING_MAX_BYTES * 2);
	reading_begin(out, type, 0);
	ck_assert_int_eq(reading_add(out, PID, BEGAN, &b), 0);
}

static struct reading_part
part_of(const struct buf *reading, enum profile_type_id type)
{
	const struct reading_head *h;

	ck_assert_int_eq(reading_check(reading->p, reading->len, type, &h), 0);
	return reading_find(h, PID, BEGAN);
}

/* The growth since an earlier reading, and the new reading. */
struct grown {
	bool same;
	int64_t events;
	struct buf next;
};

static void
grown_done(struct grown *g)
{
	buf_done(&g->next);
}
#define CLEANUP_GROWN CLEANUP(grown_done)

static int64_t
events(enum profile_type_id type, struct go_buckets *before,
       struct go_buckets *now)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct go_profiles from = {.minor = 24};
	struct quality q = {0};
	CLEANUP(bucket_rows_done)
	struct bucket_rows rows = {.type = type,
	                           .from = &from,
	                           .rate = 1,
	                           .elapsed = {1000, 1000, UINT64_MAX},
	                           .frames = {.p = p},
	                           .p = p,
	                           .q = &q};

	for (uint32_t i = 0; i < now->addrs.n; i++)
		((struct go_bucket *)(void *)now->rows.p)[i].nstack = 0;
	ck_assert_int_eq(buckets_header(p, type, 1), 0);
	ck_assert_int_eq(bucket_rows_add(&rows, before, now), 0);
	return q.kept;
}

static struct grown
grow(const struct buf *last, enum profile_type_id type, const struct had *rows)
{
	CLEANUP(go_buckets_done) struct go_buckets now = buckets(rows);
	CLEANUP(go_buckets_done) struct go_buckets before = {0};
	struct reading_part part = part_of(last, type);
	struct grown g = {.next = BUF_INIT(READING_MAX_BYTES * 2)};

	ck_assert_int_eq(reading_compare(&part, type, &now, &before, &g.same),
	                 0);
	reading_begin(&g.next, type, 0);
	ck_assert_int_eq(reading_add(&g.next, PID, BEGAN, &now), 0);
	g.events = events(type, &before, &now);
	return g;
}

static const struct had some[] = {
	{0x1000, 1, 10}, {0x2000, 2, 20}, {0x3000, 3, 30}, END_OF_HAD};

/* Counts of a second reading, the expected growth, and whether the program is
 * still the same one. */
static const struct {
	const char *what;
	struct had rows[5];
	int64_t events;
	bool same;
} grown[] = {
	{"nothing", {{0x1000, 1, 10}, {0x2000, 2, 20}, {0x3000, 3, 30}}, 0, 1},
	{"more of one",
         {{0x1000, 1, 10}, {0x2000, 2, 25}, {0x3000, 3, 30}},
         5,
         1},
	{"a new stack",
         {{0x4000, 4, 7}, {0x1000, 1, 11}, {0x2000, 2, 20}, {0x3000, 3, 30}},
         8,
         1},
	{"one went backwards",
         {{0x1000, 1, 9}, {0x2000, 2, 22}, {0x3000, 3, 30}},
         2,
         1},
	{"most went backwards: another program",
         {{0x1000, 1, 1}, {0x2000, 2, 2}, {0x3000, 3, 3}},
         6,
         0},
	{"a stack is gone: another program",
         {{0x1000, 1, 10}, {0x2000, 2, 20}},
         30,
         0},
	{"another stack at its place: another program",
         {{0x1000, 1, 10}, {0x2000, 9, 20}, {0x3000, 3, 30}},
         60,
         0},
	{"nothing at all: another program", {END_OF_HAD}, 0, 0},
};

TEST(what_came_since_a_reading_is_told)
{
	static const enum profile_type_id types[] = {TYPE_alloc, TYPE_block,
	                                             TYPE_mutex};

	for (size_t i = 0; i < ARRAY_LEN(grown) * ARRAY_LEN(types); i++) {
		enum profile_type_id type = types[i % ARRAY_LEN(types)];
		size_t row = i / ARRAY_LEN(types);
		CLEANUP_BUF struct buf last;
		CLEANUP_GROWN struct grown g;

		read_into(&last, type, some);
		g = grow(&last, type, grown[row].rows);
		ck_assert_msg(g.same == grown[row].same, "%s", grown[row].what);
		ck_assert_msg(g.events == grown[row].events, "%s: %ld",
		              grown[row].what, (long)g.events);
	}
}
END

/* Bucket counts may be read while the runtime moves them. Later windows then
 * make up for it, so that the sum is right. */
TEST(a_count_that_went_backwards_is_made_up_for)
{
	static const uint64_t torn[] = {15, 13, 16, 4, 18, 40, 20};
	CLEANUP_BUF struct buf last;
	int64_t all = 0;

	read_into(&last, TYPE_alloc, some);
	for (size_t i = 0; i < ARRAY_LEN(torn); i++) {
		const struct had now[] = {{0x1000, 1, torn[i]},
		                          {0x2000, 2, 20},
		                          {0x3000, 3, 30},
		                          END_OF_HAD};
		struct grown g = grow(&last, TYPE_alloc, now);

		ck_assert(g.same);
		ck_assert_int_ge(g.events, 0);
		all += g.events;
		buf_done(&last);
		last = g.next;
	}
	ck_assert_int_eq(all, 40 - 10);
}
END

TEST(a_process_is_known_by_its_number_and_its_begin)
{
	static const struct {
		int32_t pid;
		uint64_t began;
		bool found;
	} rows[] = {{PID, BEGAN, true},
	            {PID, BEGAN + 1, false}, /* its pid was reused */
	            {PID + 1, BEGAN, true},
	            {PID + 2, BEGAN, false}};
	CLEANUP_BUF struct buf r;
	CLEANUP(go_buckets_done) struct go_buckets b = buckets(some + 2);
	const struct reading_head *h;

	read_into(&r, TYPE_block, some);
	ck_assert_int_eq(reading_add(&r, PID + 1, BEGAN, &b), 0);
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_block, &h), 0);
	ck_assert_uint_eq(h->nprocesses, 2);
	ck_assert_int_eq(reading_part(h, 1).process->pid, PID + 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert(
			rows[i].found ==
			(reading_find(h, rows[i].pid, rows[i].began).process !=
		         NULL));
}
END

TEST(one_that_is_kept_is_as_it_was)
{
	CLEANUP_BUF struct buf r, next = BUF_INIT(READING_MAX_BYTES * 2);
	struct reading_part part, kept;

	read_into(&r, TYPE_mutex, some);
	part = part_of(&r, TYPE_mutex);
	reading_begin(&next, TYPE_mutex, 0);
	ck_assert_int_eq(reading_keep(&next, &part), 0);
	kept = part_of(&next, TYPE_mutex);
	ck_assert_uint_eq(kept.process->n, 3);
	ck_assert_mem_eq(kept.rows, part.rows, 3 * sizeof(*part.rows));
}
END

TEST(what_is_no_reading_is_refused)
{
	CLEANUP_BUF struct buf r;
	const struct reading_head *h = NULL;
	struct reading_head *head;

	read_into(&r, TYPE_alloc, some);
	for (size_t n = 0; n < r.len; n++)
		ck_assert_int_eq(reading_check(r.p, n, TYPE_alloc, &h),
		                 -EBADMSG);
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_block, &h), -EBADMSG);
	head = (void *)r.p;
	head->nprocesses = UINT32_MAX;
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_alloc, &h), -EBADMSG);
	head->nprocesses = 1;
	((struct reading_process *)(head + 1))->n = UINT32_MAX;
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_alloc, &h), -EBADMSG);
	((struct reading_process *)(head + 1))->n = 3;
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_alloc, &h), 0);
	head->mono_ns = INT64_MAX; /* in the future */
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_alloc, &h), -EBADMSG);
	head->mono_ns = -1;
	ck_assert_int_eq(reading_check(r.p, r.len, TYPE_alloc, &h), -EBADMSG);
}
END

TEST(a_bucket_that_is_there_twice_is_refused)
{
	CLEANUP_BUF struct buf r;
	CLEANUP(go_buckets_done)
	struct go_buckets now = buckets(some), before = {0};
	struct reading_part part;
	bool same;

	read_into(&r, TYPE_alloc, some);
	part = part_of(&r, TYPE_alloc);
	((struct reading_row *)(uintptr_t)part.rows)[1] = part.rows[0];
	ck_assert_int_eq(
		reading_compare(&part, TYPE_alloc, &now, &before, &same),
		-EBADMSG);
}
END

TEST(a_reading_has_a_ceiling)
{
	const size_t most = (READING_MAX_BYTES - sizeof(struct reading_head) -
	                     sizeof(struct reading_process)) /
	                    sizeof(struct reading_row);
	struct had *rows = calloc(most + 2, sizeof(*rows));

	ck_assert_ptr_nonnull(rows);
	for (size_t more = 0; more < 2; more++) {
		CLEANUP_BUF struct buf r = BUF_INIT(READING_MAX_BYTES * 2);
		CLEANUP(go_buckets_done) struct go_buckets b;

		for (size_t i = 0; i < most + more; i++)
			rows[i] = (struct had){0x1000 + 16 * i, i, i};
		b = buckets(rows);
		reading_begin(&r, TYPE_alloc, 0);
		ck_assert_int_eq(reading_add(&r, PID, BEGAN, &b),
		                 more ? -EFBIG : 0);
	}
	free(rows);
}
END

SUITE("reading");
