#include "base/conf.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static int
parse(const char *text, struct conf *c, struct buf *why)
{
	return conf_parse("t.conf", text, c, why);
}

TEST(defaults_stand_where_nothing_is_said)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(parse("", &c, &why), 0);
	ck_assert_str_eq(c.store_dir, "/var/lib/stoker");
	ck_assert_int_eq(c.store_max_bytes, INT64_C(10) << 30);
	ck_assert_int_eq(c.store_max_age, 30 * 86400);
}
END

TEST(suffixes_scale_values)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(parse("[store]\nmax_bytes = 2G\nmax_age = 3h\n"
	                       "[worker]\nstack_bytes=32K\n",
	                       &c, &why),
	                 0);
	ck_assert_int_eq(c.store_max_bytes, INT64_C(2) << 30);
	ck_assert_int_eq(c.store_max_age, 3 * 3600);
	ck_assert_int_eq(c.worker_stack_bytes, 32 << 10);
}
END

static const struct {
	const char *text, *says;
} refused[] = {
	{"[store]\nmax_byte = 1G\n", "t.conf:2: unknown key 'max_byte'"},
	{"[nowhere]\na = b\n", "t.conf:2: unknown key"},
	{"[api]\npublic_url = https://example.org/stoker\n",
         "t.conf:2: [api] public_url = https://example.org/stoker: expected "},
	{"[api]\npublic_url = example.org\n", "expected http:// or https://"},
	{"[api]\npool = many\n", "expected INT from 1 to 256"},
	{"[api]\npool = 0\n", "expected INT"},
	{"[api]\npool = 257\n", "expected INT"},
	{"[api]\npool = 4K\n", "expected INT"},
	{"[store]\nmax_bytes = 99999999999999T\n", "expected BYTES"},
	{"[store]\nmax_bytes = -1\n", "expected BYTES"},
	{"[store]\nmax_age = 5G\n", "expected SECONDS"},
	{"[store]\ndir =\n", "expected TEXT"},
	{"[api]\n\npool\n", "t.conf:3: expected [section], key = value"},
	{"[scope.a]\npids = 1\n", "expected one of units, exe, uids, "},
	{"[quota]\nservice = 1\n", "unknown key 'service' in [quota]"},
	{"[quota.a]\nservice = 1\n", "unknown key 'service' in [quota.a]"},
	{"[quota]\nservices = 1K\n", "services = 1K: expected INT"},
	{"[quota.a]\nbytes = -1\n", "bytes = -1: expected BYTES"},
};

TEST(a_wrong_line_is_named_with_what_was_expected)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct conf c = {0};
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(parse(refused[i].text, &c, &why), -EINVAL);
		ck_assert_msg(strstr(buf_str(&why), refused[i].says) != NULL,
		              "%s", buf_str(&why));
		ck_assert_ptr_null(c.store_dir);
	}
}
END

TEST(a_scope_lists_what_its_tenant_may_name)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf_tenant *s;

	ck_assert_int_eq(
		parse("[scope.team-a]\nunits = a.service  b.service\nexe = *\n",
	              &c, &why),
		0);
	s = conf_tenant(&c, "team-a");
	ck_assert_ptr_nonnull(s);
	ck_assert(conf_list_has(s->units, "b.service"));
	ck_assert(!conf_list_has(s->units, "b.servic"));
	ck_assert(!conf_list_has(s->units, ""));
	ck_assert(conf_list_has(s->exe, "/usr/bin/anything"));
	ck_assert(!conf_list_has(s->uids, "0"));
	ck_assert_ptr_null(conf_tenant(&c, "team-b"));
}
END

TEST(a_quota_of_one_tenant_replaces_that_of_all)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(parse("[quota.a]\nbytes = 2G\nservices = 0\n"
	                       "[quota]\nservices = 5\npins = 3\n"
	                       "[scope.b]\nexe = *\n",
	                       &c, &why),
	                 0);
	ck_assert_int_eq(conf_quota(&c, "a", QUOTA_bytes), INT64_C(2) << 30);
	ck_assert_int_eq(conf_quota(&c, "a", QUOTA_services), 0);
	ck_assert_int_eq(conf_quota(&c, "a", QUOTA_pins), 3);
	ck_assert_int_eq(conf_quota(&c, "b", QUOTA_services), 5);
	ck_assert_int_eq(conf_quota(&c, "c", QUOTA_services), 5);
	ck_assert_int_eq(conf_quota(&c, "c", QUOTA_bytes), 0);
}
END

/* If the name were cut, the section would apply to another tenant. */
TEST(a_section_whose_name_does_not_fit_is_refused)
{
	static const char *const kinds[] = {"quota", "scope"};
	static const char *const keys[] = {"services = 1", "exe = *"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (int n = 42; n < 60; n++) {
			CLEANUP(conf_done) struct conf c = {0};
			CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
			char text[128], tenant[64];
			int rc;

			snprintf(tenant, sizeof(tenant), "%0*d", n, 7);
			snprintf(text, sizeof(text), "[%s.%s]\n%s\n", kinds[i],
			         tenant, keys[i]);
			rc = parse(text, &c, &why);
			if (n == 42)
				ck_assert_ptr_nonnull(conf_tenant(&c, tenant));
			else
				ck_assert_int_eq(rc, -E2BIG);
		}
}
END

TEST(scopes_of_two_tenants_stay_apart)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const struct conf_tenant *a, *b;

	ck_assert_int_eq(parse("[scope.a]\nunits = a.service\n"
	                       "[scope.b]\nexe = /opt/b\n"
	                       "[scope.a]\nuids = 7\n",
	                       &c, &why),
	                 0);
	a = conf_tenant(&c, "a");
	b = conf_tenant(&c, "b");
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert(conf_list_has(a->units, "a.service"));
	ck_assert(conf_list_has(a->uids, "7"));
	ck_assert(!conf_list_has(a->exe, "/opt/b"));
	ck_assert(conf_list_has(b->exe, "/opt/b"));
	ck_assert(!conf_list_has(b->units, "a.service"));
	ck_assert(!conf_list_has(b->uids, "7"));
}
END

TEST(every_default_is_within_its_own_bounds)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP(conf_done) struct conf c = {0};

		buf_addf(&text, "[%s]\n%s = %s\n", conf_keys[i].section,
		         conf_keys[i].key, conf_keys[i].def);
		ck_assert_msg(parse(buf_str(&text), &c, &why) == 0, "%s",
		              buf_str(&why));
	}
}
END

TEST(a_missing_file_means_the_defaults)
{
	CLEANUP(conf_done) struct conf c = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(conf_load("/nonexistent/stoker.conf", &c, &why), 0);
	ck_assert_int_eq(c.api_pool, 4);
}
END

SUITE("conf");
