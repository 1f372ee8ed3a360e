#include "endpoint/links.h"
#include "lib/store.h"

#include <errno.h>
#include <string.h>

#define NOW_MS  INT64_C(1770000000000)
#define HOUR_MS INT64_C(3600000)
#define TTL_S   86400

struct parts {
	char tenant[64], key[ID_MAX], signature[80];
	long long expires;
};

static void
make(struct test_store *t, struct link_keys *k, int64_t now_ms, char *out)
{
	CLEANUP_BUF struct buf b = BUF_INIT(LINK_MAX);

	static const struct link_page page = {
		.claim = {.kind = "flamegraph", "sess-a", .tenant = "t"},
		.url = "http://x/sess-a",
	};

	ck_assert_int_eq(link_make(&t->s, k, &page, now_ms, TTL_S, &b), 0);
	memcpy(out, b.p, b.len + 1);
}

static struct link_claim
parse(const char *link, struct parts *p)
{
	ck_assert_int_eq(sscanf(strchr(link, '?'),
	                        "?tenant=%63[^&]&key=%63[^&]&expires=%lld&"
	                        "signature=%79s",
	                        p->tenant, p->key, &p->expires, p->signature),
	                 4);
	return (struct link_claim){"flamegraph", "sess-a", p->tenant, p->key,
	                           p->expires};
}

TEST(a_link_is_the_same_within_an_hour)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct link_keys k = {0};
	int64_t hour_ms = NOW_MS / HOUR_MS * HOUR_MS;
	char first[LINK_MAX], last[LINK_MAX], next[LINK_MAX];

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
	char link[LINK_MAX];
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
	char link[LINK_MAX];
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
	char link[LINK_MAX];
	struct parts p;
	struct link_claim c, bad[5];

	make(&t, &k, NOW_MS, link);
	c = parse(link, &p);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		bad[i] = c;
	bad[0].tenant = "u";
	bad[1].subject = "sess-b";
	bad[2].expires_s++;
	bad[3].key = "link-none";
	bad[4].kind = "diff";
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_int_eq(
			link_check(&t.s, &k, &bad[i], p.signature, NOW_MS),
			-EACCES);
	ck_assert_int_eq(link_check(&t.s, &k, &c, "", NOW_MS), -EACCES);
	p.signature[63] ^= 1;
	ck_assert_int_eq(link_check(&t.s, &k, &c, p.signature, NOW_MS),
	                 -EACCES);
}
END

	SUITE("link", a_link_is_the_same_within_an_hour,
              a_link_lives_its_time_and_not_much_longer,
              a_link_is_good_in_another_process,
              a_signature_is_for_one_page_tenant_profile_and_time)
