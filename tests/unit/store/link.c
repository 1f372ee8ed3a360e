#include "endpoint/call/links.h"
#include "lib/store.h"

#include <errno.h>
#include <string.h>

#define NOW_MS  INT64_C(1770000000000)
#define HOUR_MS INT64_C(3600000)
#define TTL_S   86400

struct parts {
	char tenant[64], signature[80];
};

static void
make(struct test_store *t, struct link_keys *k, int64_t now_ms, char *out)
{
	CLEANUP_BUF struct buf b = BUF_INIT(LINK_URL_MAX);

	static const struct link_page page = {
		.claim = {.kind = "flamegraph", "sess-a", .tenant = "t"},
		.url = "http://x/sess-a",
	};

	ck_assert_int_eq(link_key_make(&t->s), 0);
	ck_assert_int_eq(link_make(&t->s, k, &page, now_ms, TTL_S, &b), 0);
	memcpy(out, b.p, b.len + 1);
}

static struct link_claim
parse(const char *link, struct parts *p)
{
	ck_assert_int_eq(sscanf(strchr(link, '?'),
	                        "?tenant=%63[^&]&signature=%79s", p->tenant,
	                        p->signature),
	                 2);
	return (struct link_claim){"flamegraph", "sess-a", p->tenant, NULL, 0};
}

TEST(a_link_is_the_same_within_an_hour)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys k = {0};
	int64_t hour_ms = NOW_MS / HOUR_MS * HOUR_MS;
	char first[LINK_URL_MAX], last[LINK_URL_MAX], next[LINK_URL_MAX];

	make(&t, &k, hour_ms, first);
	make(&t, &k, hour_ms + HOUR_MS - 1, last);
	make(&t, &k, hour_ms + HOUR_MS, next);
	ck_assert_str_eq(first, last);
	ck_assert_str_ne(first, next);
}
END

TEST(a_link_lives_its_time_and_not_much_longer)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys k = {0};
	char link[LINK_URL_MAX];
	struct parts p;
	struct link_claim c;

	make(&t, &k, NOW_MS, link);
	c = parse(link, &p);
	ck_assert_int_eq(
		link_check(&t.s, &k, &c, p.signature, NOW_MS + TTL_S * 1000),
		0);
	ck_assert_int_eq(link_check(&t.s, &k, &c, p.signature,
	                            NOW_MS + TTL_S * 1000 + HOUR_MS + 1),
	                 -EKEYEXPIRED);
}
END

TEST(a_link_is_good_in_another_process)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys here = {0}, there = {0};
	char link[LINK_URL_MAX];
	struct parts p;
	struct link_claim c;

	make(&t, &here, NOW_MS, link);
	c = parse(link, &p);
	ck_assert_int_eq(link_check(&t.s, &there, &c, p.signature, NOW_MS), 0);
}
END

TEST(a_signature_is_for_one_page_tenant_profile_and_time)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys k = {0};
	char link[LINK_URL_MAX];
	struct parts p;
	struct link_claim c, bad[3];

	make(&t, &k, NOW_MS, link);
	c = parse(link, &p);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = c;
	bad[0].tenant = "u";
	bad[1].subject = "sess-b";
	bad[2].kind = "diff";
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_int_eq(
			link_check(&t.s, &k, &bad[i], p.signature, NOW_MS),
			-EACCES);
	ck_assert_int_eq(link_check(&t.s, &k, &c, "", NOW_MS), -EACCES);
	for (size_t i = 0; p.signature[i]; i++) {
		char changed[sizeof(p.signature)];

		memcpy(changed, p.signature, sizeof(changed));
		changed[i] = changed[i] == '2' ? '3' : '2';
		ck_assert_int_eq(link_check(&t.s, &k, &c, changed, NOW_MS),
		                 -EACCES);
		memcpy(changed, p.signature, i);
		changed[i] = '\0';
		ck_assert_int_eq(link_check(&t.s, &k, &c, changed, NOW_MS),
		                 -EACCES);
	}
	memmove(p.signature + 1, p.signature, strlen(p.signature) + 1);
	p.signature[0] = '0'; /* the same hour, with a leading 0 */
	ck_assert_int_eq(link_check(&t.s, &k, &c, p.signature, NOW_MS),
	                 -EACCES);
	memmove(p.signature, p.signature + 1, strlen(p.signature));
	strcat(p.signature, "A");
	ck_assert_int_eq(link_check(&t.s, &k, &c, p.signature, NOW_MS),
	                 -EACCES);
}
END

TEST(a_link_is_149_characters_of_which_a_signature_is_34)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf b = BUF_INIT(LINK_URL_MAX);
	struct link_keys k = {0};

	ck_assert_int_eq(link_key_make(&t.s), 0);
	ck_assert_int_eq(link_flamegraph(&t.s, &k, "http://127.0.0.1:8088",
	                                 "default", "sess-aaaaaaaaaaaaaaaaaaaa",
	                                 NOW_MS, TTL_S, &b),
	                 0);
	ck_assert_uint_eq(strlen(strstr(buf_str(&b), "&signature=")), 11 + 34);
	ck_assert_uint_eq(b.len, 149);
}
END

/* A secret and a link of a store that was made before links were short: printf
 * 'flamegraph\nt\nsess-a\n1770087600' | openssl dgst -sha256 \
 *     -mac HMAC -macopt hexkey:0101...01 */
TEST(a_link_with_key_and_expires_is_still_valid)
{
	static const char secret[] = "01010101010101010101010101010101"
				     "01010101010101010101010101010101";
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys k = {0};
	struct link_claim c = {"flamegraph", "sess-a", "t", "key-old",
	                       1770087600};
	char signature[] = "68628c04a0817558fcc5e226d8f664e3"
			   "58e243aa14742c7beb7116dda8fdcb45";
	int n = db_run(t.s.db, SQL_LINK_KEY_INSERT,
	               ARGS(V("key-old"), V(secret)));

	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(link_check(&t.s, &k, &c, signature, NOW_MS), 0);
	ck_assert_int_eq(
		link_check(&t.s, &k, &c, signature, INT64_C(1770087601000)),
		-EKEYEXPIRED);
	c.expires_s++;
	ck_assert_int_eq(link_check(&t.s, &k, &c, signature, NOW_MS), -EACCES);
	c.expires_s--;
	c.key = "key-none";
	ck_assert_int_eq(link_check(&t.s, &k, &c, signature, NOW_MS), -EACCES);
	c.key = "key-old";
	signature[63] ^= 1;
	ck_assert_int_eq(link_check(&t.s, &k, &c, signature, NOW_MS), -EACCES);
	c.key = NULL;
	ck_assert_int_eq(link_check(&t.s, &k, &c, signature, NOW_MS), -EACCES);
}
END

#define Q(name, value)      \
	{                   \
		name, value \
	}

static void
subject(const struct query_pair *q, size_t n, char out[static 200])
{
	CLEANUP_BUF struct buf b = BUF_INIT(200);

	link_subject(&(struct link_query){q, n}, &b);
	snprintf(out, 200, "%s", buf_str(&b));
}

TEST(a_range_is_signed_in_any_order_and_format)
{
	static const struct query_pair made[] = {
		Q("service", "svc"), Q("from", "1"), Q("label.team", "a b")};
	static const struct query_pair asked[] = {
		Q("label.team", "a b"), Q("service", "svc"), Q("from", "1"),
		Q("tenant", "t"),       Q("expires", "7"),   Q("key", "k"),
		Q("signature", "s"),    Q("format", "svg")};
	char a[200], b[200];

	subject(made, ARRAY_LEN(made), a);
	subject(asked, ARRAY_LEN(asked), b);
	ck_assert_str_eq(a, b);
	ck_assert_str_ne(a, "");
}
END

TEST(no_two_ranges_are_signed_alike)
{
	static const struct query_pair rows[][2] = {
		{Q("a", "1"), Q("b", "2")},        {Q("a", "2"), Q("b", "1")},
		{Q("a", "1;1:b=1:2"), Q("c", "")}, {Q("a", "1"), Q("b", "2;")},
		{Q("a", "1"), Q("c", "2")},
	};
	char a[200], b[200];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t j = 0; j < i; j++) {
			subject(rows[i], 2, a);
			subject(rows[j], 2, b);
			ck_assert_str_ne(a, b);
		}
}
END

TEST(a_query_is_escaped_in_an_address)
{
	CLEANUP_BUF struct buf b = BUF_INIT(LINK_URL_MAX);
	static const struct query_pair q[] = {Q("service", "svc"),
	                                      Q("label.x", "a&b=\xc3\xa9")};

	link_put_query(&(struct link_query){q, 2}, &b);
	ck_assert_str_eq(buf_str(&b), "service=svc&label.x=a%26b%3D%C3%A9");
}
END

SUITE("link");
