#include "worker/continuous/left_out.h"

#include "lib/store.h"
#include "store/continuous.h"

#include <string.h>

struct left {
	struct test_store t;
	struct watches w;
	struct left_out l;
};
static void
left_done(struct left *l)
{
	left_out_done(&l->l);
	test_store_done(&l->t);
}
#define CLEANUP_LEFT CLEANUP(left_done)

static void
left_init(struct left *l)
{
	*l = (struct left){.t = test_store(), .w = WATCHES_INIT};
	l->w.store = &l->t.s;
	l->w.host = TEST_HOST;
}

/* Compares the reported problems with "type code" of each, in order. */
static void
told_are(struct left *l, const char *want)
{
	CLEANUP_CONTINUOUS_PROBLEMS struct continuous_problem_list p = {0};
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		continuous_problem_list(&l->t.s, TEST_TENANT, TEST_SERVICE, &p),
		0);
	for (size_t i = 0; i < p.n; i++)
		buf_addf(&got, "%s %s,", p.items[i].type, p.items[i].code);
	ck_assert_str_eq(buf_str(&got), want);
}

static void
leave_out(struct left *l, const char *type)
{
	ck_assert_int_eq(left_out_add(&l->l, TEST_TENANT, TEST_SERVICE, type),
	                 0);
}

TEST(what_is_left_out_is_told_until_it_is_taken)
{
	CLEANUP_LEFT struct left l;

	left_init(&l);
	left_out_begin(&l.l);
	leave_out(&l, "cpu");
	leave_out(&l, "memory");
	left_out_end(&l.l, &l.w);
	told_are(&l, "cpu WorkerBusy,memory WorkerBusy,");

	left_out_begin(&l.l);
	leave_out(&l, "memory");
	left_out_end(&l.l, &l.w);
	told_are(&l, "memory WorkerBusy,");
	ck_assert_uint_eq(l.l.n, 1);

	left_out_begin(&l.l);
	left_out_end(&l.l, &l.w);
	told_are(&l, "");
}
END

TEST(a_service_of_the_same_name_is_left_out_for_itself)
{
	CLEANUP_LEFT struct left l;

	left_init(&l);
	left_out_begin(&l.l);
	ck_assert_int_eq(left_out_add(&l.l, TEST_TENANT, TEST_SERVICE, "cpu"),
	                 0);
	ck_assert_int_eq(left_out_add(&l.l, "other", TEST_SERVICE, "cpu"), 0);
	ck_assert_int_eq(left_out_add(&l.l, "other", TEST_SERVICE, "cpu"), 0);
	ck_assert_uint_eq(l.l.named, 2);
	left_out_end(&l.l, &l.w);
}
END

TEST(a_service_that_is_gone_is_no_news)
{
	CLEANUP_LEFT struct left l;

	left_init(&l);
	left_out_begin(&l.l);
	ck_assert_int_eq(left_out_add(&l.l, TEST_TENANT, "none", "cpu"), 0);
	left_out_end(&l.l, &l.w);
	told_are(&l, "");
}
END

TEST(more_than_are_named_are_counted)
{
	CLEANUP_LEFT struct left l;
	char service[16];

	left_init(&l);
	left_out_begin(&l.l);
	for (int i = 0; i < LEFT_OUT_NAMED + 7; i++) {
		snprintf(service, sizeof(service), "s%d", i);
		ck_assert_int_eq(
			left_out_add(&l.l, TEST_TENANT, service, "cpu"), 0);
	}
	left_out_end(&l.l, &l.w);
	ck_assert_uint_eq(l.l.n, LEFT_OUT_NAMED + 7);
	ck_assert_uint_eq(l.l.named, LEFT_OUT_NAMED);
}
END

SUITE("left_out");
