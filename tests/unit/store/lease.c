#include "store/lease.h"

#include "lib/store.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <string.h>

#define LEASE_MS 15000

static int
take(struct test_store *t, const char *holder)
{
	return lease_take(&t->s, LEASE_KEEPER, holder, LEASE_MS);
}

TEST(one_of_two_has_a_lease)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(take(&t, "a"), 1);
	ck_assert_int_eq(take(&t, "b"), 0);
	ck_assert_int_eq(take(&t, "a"), 1);
}
END

TEST(a_lease_that_has_ended_is_anybodys)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(take(&t, "a"), 1);
	db_skew_clock(t.s.db, LEASE_MS - 1000);
	ck_assert_int_eq(take(&t, "b"), 0);
	db_skew_clock(t.s.db, LEASE_MS + 1000);
	ck_assert_int_eq(take(&t, "b"), 1);
	ck_assert_int_eq(take(&t, "a"), 0);
}
END

TEST(a_lease_is_given_up_by_its_holder_alone)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();

	ck_assert_int_eq(take(&t, "a"), 1);
	ck_assert_int_eq(lease_drop(&t.s, LEASE_KEEPER, "b"), 0);
	ck_assert_int_eq(take(&t, "b"), 0);
	ck_assert_int_eq(lease_drop(&t.s, LEASE_KEEPER, "a"), 0);
	ck_assert_int_eq(take(&t, "b"), 1);
}
END

TEST(who_has_a_lease_is_told)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char host[CONF_HOST_MAX];
	int64_t ms;

	ck_assert_int_eq(lease_get(&t.s, LEASE_KEEPER, host, &ms), -ENOENT);
	ck_assert_int_eq(take(&t, "a"), 1);
	ck_assert_int_eq(lease_get(&t.s, LEASE_KEEPER, host, &ms), 0);
	ck_assert_str_eq(host, t.s.host);
	ck_assert_int_gt(ms, LEASE_MS - 5000);
	db_skew_clock(t.s.db, 2 * LEASE_MS);
	ck_assert_int_eq(lease_get(&t.s, LEASE_KEEPER, host, &ms), 0);
	ck_assert_int_lt(ms, 0);
}
END

SUITE("lease");
