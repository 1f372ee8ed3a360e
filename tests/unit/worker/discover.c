/* Containers and units that become services automatically. */
#include "worker/targets/discover.h"

#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/discovered.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LONG "0123456789012345678901234567890123456789012345678901234567890123"

static struct conf_tenant scope = {.tenant = TEST_TENANT,
                                   .exe = (char *)"/usr/"};

/* A store, and a worker with this configuration. */
struct machine {
	struct test_store t;
	struct conf conf;
	struct discover d;
};

static void
conf_of(const char *text, struct conf *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(conf_parse("t.conf", text, out, &why), 0);
	free(out->discover_tenant);
	out->discover_tenant = strdup(TEST_TENANT);
	out->tenants = &scope;
	out->ntenants = 1;
}

static void
conf_end(struct conf *c)
{
	c->tenants = NULL;
	c->ntenants = 0;
	conf_done(c);
}

/* Starts a worker that has the services of an earlier one. */
static void
start(struct machine *h)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	discover_done(&h->d);
	ck_assert_int_eq(discover_init(&h->d, &h->conf, TEST_HOST, &why), 0);
}

static void
host(struct machine *h, const char *conf)
{
	h->t = test_store();
	conf_of(conf, &h->conf);
	start(h);
}

static void
machine_done(struct machine *h)
{
	discover_done(&h->d);
	conf_end(&h->conf);
	test_store_done(&h->t);
}
#define HOST(h) CLEANUP(machine_done) struct machine h = {0}

static struct container
container(const char *name, const char *namespace, const char *project,
          const char *service)
{
	return (struct container){
		.named = true,
		.facts.facts = {[CONTAINER_NAME] = (char *)name,
	                        [CONTAINER_NAMESPACE] = (char *)namespace,
	                        [CONTAINER_PROJECT] = (char *)project,
	                        [CONTAINER_SERVICE] = (char *)service},
	};
}

static struct proc
process(const char *unit, struct container *in)
{
	return (struct proc){.pid = 10,
	                     .exe = (char *)"/usr/bin/x",
	                     .cmdline = (char *)"x",
	                     .unit = (char *)unit,
	                     .container = in};
}

/* Looks at one process. Returns the number of services made. */
static int
look(struct machine *h, struct proc p, int64_t now_ns)
{
	const struct proc_table table = {.items = &p, .n = 1, .proc_fd = -1};

	return discover_step(&h->d, &h->t.s, &table, now_ns);
}

static bool
has(struct machine *h, const char *name, const char *kind, const char *value)
{
	CLEANUP_SERVICE struct service v = {0};

	return !service_get(&h->t.s, TEST_TENANT, name, &v) &&
	       !strcmp(v.match_kind, kind) && !strcmp(v.match_value, value) &&
	       !strcmp(v.host, TEST_HOST);
}

TEST(what_starts_becomes_a_service_of_its_name)
{
	static const struct {
		const char *unit, *name, *namespace, *project, *of;
		uid_t owner;
		const char *service, *kind, *value; /* service NULL: none */
	} rows[] = {
		{"web.service", .service = "web", .kind = "unit",
	         .value = "web.service"},
		{"app@1.service", .service = "app", .kind = "unit",
	         .value = "app@.service"},
		{.unit = "systemd-journald.service"},
		{.unit = "user@1000.service"},
		{.unit = "session-1.scope"},
		{.unit = ""},
		{.unit = ".service"},
		{"d.scope", "front", .service = "front", .kind = "container",
	         .value = "front"},
		{"d.scope", "shop-api-1", NULL, "shop", "api",
	         .service = "shop-api", .kind = "compose",
	         .value = "{\"project\":\"shop\",\"service\":\"api\"}"},
		{"d.scope", "main", "pay", .service = "pay-main", .kind = "pod",
	         .value = "{\"namespace\":\"pay\",\"container\":\"main\"}"},
		{.unit = "d.scope", .name = "of a user", .owner = 1000},
		{.unit = "d.scope", .name = "any*"},
		{.unit = "d.scope", .name = "\303\274"},
		{"d.scope", "-a b/c.", .service = "a-b-c", .kind = "container",
	         .value = "-a b/c."},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST(h);
		struct container in = container(rows[i].name, rows[i].namespace,
		                                rows[i].project, rows[i].of);
		struct proc p =
			process(rows[i].unit, rows[i].name ? &in : NULL);

		host(&h, "[discover]\nauto = units  containers\n");
		in.owner = rows[i].owner;
		ck_assert_msg(look(&h, p, 0) == !!rows[i].service, "row %zu",
		              i);
		ck_assert_int_eq(look(&h, p, 0), 0);
		if (rows[i].service)
			ck_assert_msg(has(&h, rows[i].service, rows[i].kind,
			                  rows[i].value),
			              "row %zu", i);
	}
}
END

TEST(a_long_name_is_cut)
{
	HOST(h);

	host(&h, "[discover]\nauto = units\n");
	ck_assert_int_eq(look(&h, process(LONG LONG ".service", NULL), 0), 1);
	ck_assert(
		has(&h,
	            "012345678901234567890123456789012345678901234567890123456"
	            "789012",
	            "unit", LONG LONG ".service"));
}
END

TEST(what_is_not_asked_for_or_out_of_scope_becomes_none)
{
	static const struct {
		const char *conf, *exe;
	} rows[] = {
		{"", "/usr/bin/x"},
		{"[discover]\nauto = containers\n", "/usr/bin/x"},
		{"[discover]\nauto = units\n", "/opt/x"},
		{"[discover]\nauto = units\n", "/usr/sbin/stoker-api"},
		{"[discover]\nauto = units\n", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		HOST(h);
		struct proc p = process("web.service", NULL);

		host(&h, rows[i].conf);
		p.exe = (char *)rows[i].exe;
		p.cmdline = (char *)rows[i].exe;
		ck_assert_int_eq(discover_is_on(&h.d), i > 0);
		ck_assert_msg(!look(&h, p, 0), "row %zu", i);
	}
}
END

static void
expect_refusal(const struct conf *conf, const char *reason)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct discover d;

	ck_assert_int_eq(discover_init(&d, conf, TEST_HOST, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(buf_str(&why), reason));
}

TEST(a_word_that_is_none_is_refused)
{
	CLEANUP(conf_end) struct conf conf = {0};

	conf_of("[discover]\nauto = units pods\n", &conf);
	expect_refusal(&conf, "'pods'");
}
END

TEST(a_tenant_without_a_scope_is_refused)
{
	CLEANUP(conf_end) struct conf conf = {0};

	conf_of("[discover]\nauto = units\n", &conf);
	conf.ntenants = 0;
	expect_refusal(&conf, "[scope." TEST_TENANT);
}
END

TEST(a_service_that_was_removed_is_not_made_again)
{
	HOST(h);
	const struct proc p = process("web.service", NULL);
	const int made[] = {1, 0, 1}; /* at first, later, after 90 days */

	host(&h, "[discover]\nauto = units\n");
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		if (i == 2)
			db_skew_clock(h.t.s.db, INT64_C(91) * 86400000);
		start(&h);
		ck_assert_int_eq(look(&h, p, 0), made[i]);
		ck_assert_int_eq(service_delete(&h.t.s, TEST_TENANT, "web"),
		                 made[i] ? 0 : -ENOENT);
	}
}
END

TEST(a_service_with_that_name_or_match_is_left_alone)
{
	HOST(h);

	host(&h, "[discover]\nauto = units\n");
	ck_assert_int_eq(test_service(&h.t.s, TEST_TENANT, "web"), 0);
	ck_assert_int_eq(test_service(&h.t.s, TEST_TENANT, "other"), 0);
	test_sql(&h.t,
	         "UPDATE service SET match_kind = 'unit', "
	         "match_value = 'app.service' WHERE name = 'other'",
	         NULL, 0);
	ck_assert_int_eq(look(&h, process("web.service", NULL), 0), 0);
	ck_assert_int_eq(look(&h, process("app.service", NULL), 0), 0);
	ck_assert_int_eq(look(&h, process("app@.service", NULL), 0), 1);
}
END

TEST(services_of_another_tenant_change_nothing)
{
	HOST(h);
	const struct proc web = process("web.service", NULL);

	host(&h, "[discover]\nauto = units\nservices = 1\n");
	ck_assert_int_eq(test_service(&h.t.s, "other", "web"), 0);
	test_sql(&h.t,
	         "INSERT INTO discovered (tenant, match_kind, match_value, "
	         "service, found_ms) VALUES ('other', 'unit', 'a', 'web', 0), "
	         "('other', 'unit', 'b', 'web', 0)",
	         NULL, 0);
	ck_assert_int_eq(look(&h, web, 0), 1);
	/* the removal is forgotten, though the other tenant has such a
	 * service */
	ck_assert_int_eq(service_delete(&h.t.s, TEST_TENANT, "web"), 0);
	db_skew_clock(h.t.s.db, INT64_C(91) * 86400000);
	start(&h);
	ck_assert_int_eq(look(&h, web, 0), 1);
}
END

TEST(no_more_services_are_made_than_are_allowed)
{
	HOST(h);
	int made = 0;

	host(&h, "[discover]\nauto = units\nservices = 2\n");
	for (int i = 0; i < 5; i++) {
		char unit[32];

		snprintf(unit, sizeof(unit), "unit%d.service", i);
		made += look(&h, process(unit, NULL), 0);
	}
	ck_assert_int_eq(made, 2);
}
END

/* Its container has no name yet when the process is first seen. */
TEST(a_process_is_looked_at_while_it_is_young)
{
	HOST(h);
	struct container in = container("web", NULL, NULL, NULL);
	const struct proc p = process("", &in);

	host(&h, "[discover]\nauto = containers\n");
	in.named = false;
	ck_assert_int_eq(look(&h, p, 0), 0);
	in.named = true;
	ck_assert_int_eq(look(&h, p, PROC_YOUNG_NS + 1), 0);
	ck_assert_int_eq(look(&h, p, PROC_YOUNG_NS), 1);
}
END

SUITE("discover");
