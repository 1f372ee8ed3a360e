/* Browsers that have signed in: who owns the sessions, and when they end. */
#include "store/browser_session.h"

#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/token.h"

#include <errno.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define IDLE_MS (2 * HOUR_MS)
#define LAST    (8 * HOUR_MS) /* how long a session lasts */
#define EVERY   ((struct page){100, ""})

struct browser {
	char id[ID_MAX], cookie[BROWSER_SESSION_COOKIE_MAX];
};

static struct browser
sign_in(struct store *s, const char *actor, const char *tenant,
        int64_t link_for_ms)
{
	struct browser_session_ask ask = {.token = "",
	                                  .actor = actor,
	                                  .role = "viewer",
	                                  .tenants = tenant,
	                                  .default_tenant = tenant,
	                                  .idle_ms = IDLE_MS};
	struct browser b;
	int64_t now;

	ck_assert_int_eq(store_now(s, &now), 0);
	ask.expires_ms = now + LAST;
	ask.link_until_ms = link_for_ms ? now + link_for_ms : 0;
	ck_assert_int_eq(browser_session_create(s, &ask, b.id, b.cookie), 0);
	return b;
}

static int
check(struct store *s, const struct browser *b)
{
	CLEANUP_BROWSER_SESSION struct browser_session found = {0};
	int rc = browser_session_check(s, b->cookie, IDLE_MS, &found);

	if (!rc)
		ck_assert_str_eq(found.id, b->id);
	return rc;
}

static size_t
listed(struct store *s, const char *tenant)
{
	CLEANUP_BROWSER_SESSIONS struct browser_session_list l = {0};

	ck_assert_int_eq(browser_session_list(s, tenant, IDLE_MS, EVERY, &l),
	                 0);
	return l.n;
}

TEST(a_cookie_opens_its_own_session_until_its_time)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct browser a = sign_in(&t.s, "tok-a", "t", 0);
	struct browser b = sign_in(&t.s, "tok-b", "t", 0);
	const struct browser none = {"", "no cookie"};

	ck_assert_int_eq(check(&t.s, &none), -ENOENT);
	for (int64_t at = 0; at < LAST; at += HOUR_MS) {
		db_skew_clock(t.s.db, at);
		ck_assert_int_eq(check(&t.s, &a), 0);
		ck_assert_int_eq(check(&t.s, &b), 0);
	}
	db_skew_clock(t.s.db, LAST);
	ck_assert_int_eq(check(&t.s, &a), -ENOENT);
}
END

TEST(a_session_that_is_idle_for_too_long_ends)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct browser a = sign_in(&t.s, "tok-a", "t", 0);

	db_skew_clock(t.s.db, IDLE_MS - 60000);
	ck_assert_uint_eq(listed(&t.s, "t"), 1);
	db_skew_clock(t.s.db, IDLE_MS);
	ck_assert_uint_eq(listed(&t.s, "t"), 0);
	ck_assert_int_eq(check(&t.s, &a), -ENOENT);
}
END

TEST(only_the_oldest_of_the_same_actor_ends_when_there_are_too_many)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct browser theirs = sign_in(&t.s, "tok-b", "t", 0);
	struct browser own[BROWSER_SESSIONS_OF_ONE + 1];
	struct browser link = sign_in(&t.s, "tok-a", "t", HOUR_MS);
	char cookie[BROWSER_SESSION_COOKIE_MAX];

	for (int i = 0; i <= BROWSER_SESSIONS_OF_ONE; i++) {
		db_skew_clock(t.s.db, i + 1);
		own[i] = sign_in(&t.s, "tok-a", "t", 0);
	}
	ck_assert_int_eq(check(&t.s, &own[0]), -ENOENT);
	ck_assert_int_eq(check(&t.s, &own[1]), 0);
	ck_assert_int_eq(check(&t.s, &theirs), 0);
	/* later sessions of others do not end them */
	db_skew_clock(t.s.db, HOUR_MS / 2);
	for (int i = 0; i < BROWSER_SESSIONS_OF_ONE; i++)
		sign_in(&t.s, "tok-b", "t", 0);
	sign_in(&t.s, "tok-a", "t", 0);
	ck_assert_int_eq(check(&t.s, &own[1]), -ENOENT);
	ck_assert_int_eq(check(&t.s, &own[2]), 0);
	/* and sessions from links are counted separately */
	ck_assert_int_eq(browser_session_follow(&t.s, link.cookie, cookie), 0);
}
END

TEST(a_link_is_followed_once_and_until_its_time)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct browser a = sign_in(&t.s, "tok-a", "t", HOUR_MS);
	struct browser late = sign_in(&t.s, "tok-a", "t", HOUR_MS);
	CLEANUP_BROWSER_SESSION struct browser_session found = {0};
	struct browser_session none;
	struct browser opened;

	ck_assert_int_eq(check(&t.s, &a), -ENOENT);
	ck_assert_uint_eq(listed(&t.s, "t"), 0);
	ck_assert_int_eq(browser_session_by_link(&t.s, a.cookie, &found), 0);
	ck_assert_str_eq(found.id, a.id);
	opened = a;
	ck_assert_int_eq(browser_session_follow(&t.s, a.cookie, opened.cookie),
	                 0);
	ck_assert_int_eq(browser_session_follow(&t.s, a.cookie, opened.cookie),
	                 -ENOENT);
	ck_assert_int_eq(browser_session_by_link(&t.s, a.cookie, &none),
	                 -ENOENT);
	ck_assert_int_eq(check(&t.s, &opened), 0);
	db_skew_clock(t.s.db, HOUR_MS);
	ck_assert_int_eq(browser_session_by_link(&t.s, late.cookie, &none),
	                 -ENOENT);
	ck_assert_int_eq(
		browser_session_follow(&t.s, late.cookie, opened.cookie),
		-ENOENT);
}
END

TEST(a_tenant_lists_and_ends_its_own_only)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct browser own = sign_in(&t.s, "tok-a", "t", 0);
	struct browser theirs = sign_in(&t.s, "tok-a", "other", 0);

	ck_assert_uint_eq(listed(&t.s, "t"), 1);
	ck_assert_int_eq(browser_session_end(&t.s, theirs.id, "t"), -ENOENT);
	ck_assert_int_eq(check(&t.s, &theirs), 0);
	ck_assert_int_eq(browser_session_end(&t.s, own.id, "t"), 0);
	ck_assert_int_eq(check(&t.s, &own), -ENOENT);
}
END

TEST(pages_of_sessions_are_newest_first_and_complete)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BROWSER_SESSIONS struct browser_session_list two = {0},
							     rest = {0};
	struct browser b[3];

	for (int i = 0; i < 3; i++) {
		db_skew_clock(t.s.db, 1000 * i);
		b[i] = sign_in(&t.s, "tok-a", "t", 0);
	}
	ck_assert_int_eq(browser_session_list(&t.s, "t", IDLE_MS,
	                                      (struct page){2, ""}, &two),
	                 0);
	ck_assert_uint_eq(two.n, 2);
	ck_assert_str_eq(two.items[0].id, b[2].id);
	ck_assert_str_eq(two.items[1].id, b[1].id);
	ck_assert_int_eq(browser_session_list(&t.s, "t", IDLE_MS,
	                                      (struct page){2, two.next},
	                                      &rest),
	                 0);
	ck_assert_uint_eq(rest.n, 1);
	ck_assert_str_eq(rest.items[0].id, b[0].id);
	ck_assert_ptr_null(rest.next);
}
END

SUITE("browser_session");
