/*
 * Finding the layout of struct g by looking at goroutine 1.
 * tests/e2e/goroutines.sh compares the table with DWARF.
 */
#include "capture/goroutines/goroutine_layout.h"

#include "base/cleanup.h"
#include "lib/test.h"

#include <string.h>

#define MAIN UINT64_C(0x43a0c0)
#define ADDR UINT64_C(0xc000002380)

struct made {
	uint8_t g[GO_MAX_G];
};

static void
put(struct made *m, size_t at, uint64_t v)
{
	memcpy(m->g + at, &v, sizeof(v));
}

/* Makes goroutine 1 in a layout, waiting for input. */
static struct made
make(const struct go_layout *l)
{
	struct made m = {{0}};

	put(&m, 0, 0xc00010a000);
	put(&m, 8, 0xc00010a800);
	put(&m, 48, 0x5a0e40);
	put(&m, 56, 0xc00010a6f0);
	put(&m, 64, 0x4412ce);
	put(&m, 72, ADDR);
	put(&m, l->status, GO_WAITING | 0x1000);
	put(&m, l->goid, 1);
	put(&m, l->waitsince, 123456789);
	put(&m, l->waitreason, 2);
	put(&m, l->gopc, 0x46a123);
	put(&m, l->startpc, MAIN);
	put(&m, l->labels, 0xc000123400);
	return m;
}

static bool
is_main(void *arg, uint64_t addr)
{
	(void)arg;
	return addr == MAIN;
}

static bool
calibrate(const struct made *m, unsigned minor, struct go_layout *out)
{
	return go_layout_calibrate(m->g, ADDR, minor, is_main, NULL, out);
}

static struct go_layout
row(unsigned minor)
{
	struct go_layout l;

	ck_assert(go_layout_of(minor, &l));
	return l;
}

TEST(every_known_version_is_worked_out_as_its_row_says)
{
	for (unsigned minor = 18; minor <= 27; minor++) {
		struct go_layout want = row(minor), got;
		struct made m = make(&want);

		ck_assert_msg(calibrate(&m, minor, &got), "1.%u", minor);
		ck_assert_mem_eq(&got, &want, sizeof(got));
	}
}
END

TEST(a_version_to_come_is_worked_out_from_where_things_are)
{
	struct go_layout moved = row(27), got;
	struct go_g g;
	struct made m;

	moved.status += 16;
	moved.goid += 16;
	moved.waitsince += 16;
	moved.waitreason += 16;
	moved.gopc += 40;
	moved.startpc += 40;
	moved.labels += 40;
	m = make(&moved);
	ck_assert(!go_layout_of(28, &got));
	ck_assert(calibrate(&m, 28, &got));
	ck_assert_uint_eq(got.syscallsp, row(27).syscallsp + 16);
	ck_assert_uint_eq(got.parent, row(27).parent + 40);
	ck_assert(go_g_read(&got, m.g, ADDR, &g));
	ck_assert_uint_eq(g.status, GO_WAITING);
	ck_assert_uint_eq(g.goid, 1);
	ck_assert_uint_eq(g.waitsince, 123456789);
	ck_assert_uint_eq(g.reason, 2);
	ck_assert_uint_eq(g.gopc, 0x46a123);
	ck_assert_uint_eq(g.labels, 0xc000123400);
}
END

TEST(what_can_be_read_in_two_ways_is_not_worked_out)
{
	struct go_layout l = row(27), got = {.size = 7};
	/* offset, value, reason why it is refused */
	const struct {
		size_t at;
		uint64_t v;
		const char *why;
	} rows[] = {
		{72, ADDR + 8, "it lies elsewhere"},
		{l.startpc, MAIN + 1, "it did not begin at runtime.main"},
		{l.startpc + 32, MAIN, "two words are runtime.main"},
		{l.goid, 2, "its number is not 1"},
		{l.status, 77, "there is no such status"},
		{160, 1, "a second status could stand before a 1"},
		{8, 0, "its stack ends before it begins"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m = make(&l);

		put(&m, rows[i].at, rows[i].v);
		if (i == 5)
			put(&m, 168, 1);
		ck_assert_msg(!calibrate(&m, 27, &got), "%s", rows[i].why);
		ck_assert_uint_eq(got.size, 7);
	}
}
END

TEST(one_that_moved_is_not_the_same)
{
	struct go_layout l = row(24);
	const size_t parts[] = {0, 8, 56, 64, l.goid};
	struct made was = make(&l);
	struct go_g a, b;

	ck_assert(go_g_read(&l, was.g, ADDR, &a));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct made m = was;

		m.g[parts[i]] ^= 4;
		ck_assert(go_g_read(&l, m.g, ADDR, &b));
		ck_assert_msg(!go_g_same(&a, &b), "at %zu", parts[i]);
	}
	was.g[l.status + 1] ^= 0x10; /* being scanned or not */
	ck_assert(go_g_read(&l, was.g, ADDR, &b));
	ck_assert(go_g_same(&a, &b));
}
END

TEST(one_in_a_system_call_stands_where_it_went_in)
{
	struct go_layout l = row(25);
	struct made m = make(&l);
	struct go_g g;

	put(&m, l.status, GO_SYSCALL);
	put(&m, l.syscallsp, 0xc00010a100);
	put(&m, l.syscallsp + 8u, 0x47fe01);
	ck_assert(go_g_read(&l, m.g, ADDR, &g));
	ck_assert_uint_eq(g.sp, 0xc00010a100);
	ck_assert_uint_eq(g.pc, 0x47fe01);
}
END

SUITE("goroutine_layout");
