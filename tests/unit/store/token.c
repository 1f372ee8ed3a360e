#include "store/token.h"
#include "lib/store.h"
#include "store/audit.h"
#include "store/db/db_test.h"
#include "store/idempotency.h"
#include "store/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void
create(struct store *s, int64_t expires_ms, char id[static ID_MAX],
       char key[static TOKEN_KEY_MAX])
{
	struct token_ask ask = {"ci", "operator", "a b", "a", expires_ms, NULL};

	ck_assert_int_eq(token_create(s, &ask, id, key), 0);
}

TEST(a_key_opens_its_token_and_no_other_does)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_TOKEN struct token found = {0};
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	struct token none;

	create(&t.s, 0, id, key);
	ck_assert_uint_eq(strlen(key), 44);
	ck_assert_int_eq(token_check(&t.s, key, &found), 0);
	ck_assert_str_eq(found.id, id);
	ck_assert_str_eq(found.role, "operator");
	ck_assert_str_eq(found.default_tenant, "a");
	key[43] = key[43] == 'a' ? 'b' : 'a';
	ck_assert_int_eq(token_check(&t.s, key, &none), -ENOENT);
	ck_assert_int_eq(token_check(&t.s, "", &none), -ENOENT);
}
END

TEST(a_key_expires_at_its_time)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_TOKEN struct token found = {0};
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	int64_t now;

	ck_assert_int_eq(store_now(&t.s, &now), 0);
	create(&t.s, now + 60000, id, key);
	ck_assert_int_eq(token_check(&t.s, key, &found), 0);
	db_skew_clock(t.s.db, 60000);
	ck_assert_int_eq(token_check(&t.s, key, &found), -EKEYEXPIRED);
}
END

TEST(a_revoked_key_is_closed_once)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	struct token none;

	create(&t.s, 0, id, key);
	ck_assert_int_eq(token_revoke(&t.s, id), 0);
	ck_assert_int_eq(token_check(&t.s, key, &none), -EKEYREVOKED);
	ck_assert_int_eq(token_revoke(&t.s, id), -ENOENT);
	ck_assert_int_eq(token_revoke(&t.s, "tok-none"), -ENOENT);
}
END

static int64_t
last_used(struct store *s, const char *id)
{
	CLEANUP_TOKEN struct token v = {0};

	ck_assert_int_eq(token_get(s, id, &v), 0);
	return v.last_used_ms;
}

TEST(use_is_noted_at_most_once_a_minute)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	int64_t first;

	create(&t.s, 0, id, key);
	for (int i = 0; i < 2; i++) {
		CLEANUP_TOKEN struct token v = {0};

		ck_assert_int_eq(token_check(&t.s, key, &v), 0);
		first = i ? first : last_used(&t.s, id);
		ck_assert_int_eq(last_used(&t.s, id), first);
		db_skew_clock(t.s.db, TOKEN_TOUCH_MS - 10000);
	}
	db_skew_clock(t.s.db, TOKEN_TOUCH_MS + 1);
	{
		CLEANUP_TOKEN struct token v = {0};

		ck_assert_int_eq(token_check(&t.s, key, &v), 0);
	}
	ck_assert_int_gt(last_used(&t.s, id), first);
}
END

TEST(tokens_are_listed_without_their_keys)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_TOKENS struct token_list l = {0}, rest = {0};
	char id[ID_MAX], key[TOKEN_KEY_MAX];

	for (int i = 0; i < 3; i++)
		create(&t.s, 0, id, key);
	ck_assert_int_eq(token_list(&t.s, "*", (struct page){2, ""}, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_int_eq(token_list(&t.s, "*", (struct page){2, l.next}, &rest),
	                 0);
	ck_assert_uint_eq(rest.n, 1);
	ck_assert_ptr_null(rest.next);
}
END

/* Pages are full even where keys of other tenants lie between, and the last
 * page has no cursor. */
TEST(a_list_tells_nothing_of_keys_of_other_tenants)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_TOKENS struct token_list l = {0}, rest = {0}, none = {0};
	struct token_ask own = {"own", "admin", "a", "a", 0, NULL};
	struct token_ask other = {"other", "admin", "a c", "c", 0, NULL};
	char id[ID_MAX], key[TOKEN_KEY_MAX];

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(token_create(&t.s, &own, id, key), 0);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(token_create(&t.s, &other, id, key),
			                 0);
		db_skew_clock(t.s.db, i + 1);
	}
	ck_assert_int_eq(token_list(&t.s, "a b", (struct page){2, ""}, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_int_eq(
		token_list(&t.s, "a b", (struct page){2, l.next}, &rest), 0);
	ck_assert_uint_eq(rest.n, 1);
	ck_assert_str_eq(rest.items[0].name, "own");
	ck_assert_ptr_null(rest.next);
	ck_assert_int_eq(token_list(&t.s, "c", (struct page){2, ""}, &none), 0);
	ck_assert_uint_eq(none.n, 0);
	ck_assert_ptr_null(none.next);
}
END

/* Sixty-four letters are one more than a tenant's name may have. */
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *tenants, *within;
	bool is;
} lists[] = {
	{"a", "a", true},      {"a b", "b a", true}, {"a", "*", true},
	{"b  a", "a b", true}, {"a b", "a", false},  {"b a", "a", false},
	{"*", "a b", false},   {"*", "*", true},     {"ab", "a b", false},
	{LONG, LONG, false},   {LONG, "*", false},   {"a", "", false},
};

TEST(a_list_of_tenants_is_within_another_when_all_of_them_are)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		ck_assert_msg(token_is_within(lists[i].tenants,
		                              lists[i].within) == lists[i].is,
		              "'%s' within '%s'", lists[i].tenants,
		              lists[i].within);
}
END

static void
keep_reply(struct store *s, const struct idempotency_key *k,
           const struct idempotency *v)
{
	ck_assert_int_eq(idempotency_claim(s, k, v->fingerprint), 1);
	ck_assert_int_eq(idempotency_keep(s, k, v), 0);
}

TEST(a_reply_is_kept_for_a_day_per_tenant_and_actor)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_IDEMPOTENCY struct idempotency got = {0};
	struct idempotency_key k = {"a", "tok-1", "k"},
			       other = {"b", "tok-1", "k"};
	struct idempotency v = {"print", 202, "/x", "{}"}, none;

	keep_reply(&t.s, &k, &v);
	ck_assert_int_eq(idempotency_claim(&t.s, &k, "other"), 0);
	ck_assert_int_eq(idempotency_get(&t.s, &k, &got), 0);
	ck_assert_int_eq(got.status, 202);
	ck_assert_str_eq(got.location, "/x");
	ck_assert_int_eq(idempotency_get(&t.s, &other, &none), -ENOENT);
	db_skew_clock(t.s.db, IDEMPOTENCY_MS + 1000);
	ck_assert_int_eq(idempotency_get(&t.s, &k, &none), -ENOENT);
	keep_reply(&t.s, &k, &v); /* used again */
	db_skew_clock(t.s.db, 2 * IDEMPOTENCY_MS + 2000);
	ck_assert_int_eq(idempotency_prune(&t.s), 0);
	db_skew_clock(t.s.db, IDEMPOTENCY_MS + 1000);
	ck_assert_int_eq(idempotency_get(&t.s, &k, &none), -ENOENT);
}
END

/* Claims a key after another transaction has, and writes what it gets. */
static void
claim_beside(const struct test_store *t, const struct idempotency_key *k,
             int peer)
{
	CLEANUP_IDEMPOTENCY struct idempotency got = {0};
	struct store s = test_store_again(t, false);
	char c = 0;
	int rc = write(peer, &c, 1) == 1 && read(peer, &c, 1) == 1
	                 ? store_begin(&s)
	                 : -EIO;

	if (!rc)
		rc = idempotency_claim(&s, k, "print");
	if (!rc)
		rc = idempotency_get(&s, k, &got);
	_exit(rc ? 1 : got.status == 202 ? 0 : 2);
}

TEST(who_claims_a_key_second_waits_for_the_reply_of_the_first)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct idempotency_key k = {"a", "tok-1", "k"};
	struct idempotency v = {"print", 202, "/x", "{}"};
	int pair[2], status;
	pid_t child;
	char c;

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	store_close(&t.s);
	child = fork();
	if (!child)
		claim_beside(&t, &k, pair[1]);
	close(pair[1]);
	t.s = test_store_again(&t, true);
	ck_assert_int_eq(read(pair[0], &c, 1), 1);
	ck_assert_int_eq(store_begin(&t.s), 0);
	ck_assert_int_eq(idempotency_claim(&t.s, &k, "print"), 1);
	ck_assert_int_eq(write(pair[0], &c, 1), 1);
	ck_assert_int_eq(idempotency_keep(&t.s, &k, &v), 0);
	ck_assert_int_eq(store_commit(&t.s), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	close(pair[0]);
}
END

TEST(audit_lines_are_the_tenants_newest_first)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_AUDITS struct audit_list l = {0}, rest = {0}, found = {0};
	struct audit a = {NULL, "a", "tok-1", "start", "svc", "req", "{}", 0};

	for (int i = 0; i < 3; i++) {
		db_skew_clock(t.s.db, i * 1000);
		a.target = i == 2 ? "newest" : "svc";
		ck_assert_int_eq(audit_add(&t.s, &a), 0);
	}
	ck_assert_int_eq(audit_list(&t.s, "a", "", (struct page){2, ""}, &l),
	                 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_str_eq(l.items[0].target, "newest");
	ck_assert_int_eq(audit_list(&t.s, "b", "", (struct page){2, ""}, &rest),
	                 0);
	ck_assert_uint_eq(rest.n, 0);
	ck_assert_int_eq(
		audit_list(&t.s, "a", "NEW", (struct page){9, ""}, &found), 0);
	ck_assert_uint_eq(found.n, 1);
	ck_assert_str_eq(found.items[0].target, "newest");
	db_skew_clock(t.s.db, 5000);
	ck_assert_int_eq(audit_prune(&t.s, 3500), 0);
	audit_list_done(&l);
	ck_assert_int_eq(audit_list(&t.s, "a", "", (struct page){9, ""}, &l),
	                 0);
	ck_assert_uint_eq(l.n, 1);
}
END

/* Each line that is not counted differs from the first one in one member. */
static const struct {
	const char *tenant, *actor, *action;
	int64_t hours_ago;
	int64_t counted;
} recent[] = {
	{TEST_TENANT, "tok-1", "start", 0, 1},
	{"other", "tok-1", "start", 0, 0},
	{TEST_TENANT, "tok-2", "start", 0, 0},
	{TEST_TENANT, "tok-1", "stop", 0, 0},
	{TEST_TENANT, "tok-1", "start", 2, 0},
};

TEST(recent_audit_lines_are_those_of_a_tenant_an_actor_and_an_action)
{
	static const struct audit like = {
		.tenant = TEST_TENANT, .actor = "tok-1", .action = "start"};

	for (size_t i = 0; i < ARRAY_LEN(recent); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		const struct audit line = {.tenant = (char *)recent[i].tenant,
		                           .actor = (char *)recent[i].actor,
		                           .action = (char *)recent[i].action,
		                           .target = "svc",
		                           .request_id = "req",
		                           .detail = "{}"};
		int64_t n = -1;

		ck_assert_int_eq(audit_add(&t.s, &line), 0);
		db_skew_clock(t.s.db, recent[i].hours_ago * INT64_C(3600000));
		ck_assert_int_eq(
			audit_recent(&t.s, &like, INT64_C(3600000), &n), 0);
		ck_assert_msg(n == recent[i].counted, "row %zu", i);
	}
}
END

TEST(every_process_signs_with_one_key)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_STORE struct store other = test_store_again(&t, false);
	struct link_key a, b, c;

	ck_assert_int_eq(link_key_current(&t.s, &a), -ENOENT);
	ck_assert_int_eq(link_key_make(&t.s), 0);
	ck_assert_int_eq(link_key_make(&other), 0);
	ck_assert_int_eq(link_key_current(&t.s, &a), 0);
	ck_assert_int_eq(link_key_current(&other, &b), 0);
	ck_assert_int_eq(link_key_get(&other, a.id, &c), 0);
	ck_assert_str_eq(a.id, b.id);
	ck_assert_mem_eq(a.secret, b.secret, LINK_SECRET_BYTES);
	ck_assert_mem_eq(a.secret, c.secret, LINK_SECRET_BYTES);
	ck_assert_int_eq(link_key_get(&t.s, "key-none", &c), -ENOENT);
}
END

SUITE("token");
