#include "worker/targets/targets.h"

#include "lib/store.h"
#include "store/db/db_test.h"
#include "store/session.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const struct proc web = {
	.pid = 10,
	.uid = 33,
	.exe = "/usr/sbin/nginx",
	.cmdline = "nginx: worker process",
	.unit = "nginx.service",
};

static const struct {
	const char *kind, *value;
	bool expected;
} matches[] = {
	{"unit", "nginx.service", true},   {"unit", "nginx", true},
	{"unit", "nginx.socket", false},   {"unit", "ngin", false},
	{"exe", "/usr/sbin/nginx", true},  {"exe", "/usr/sbin/ngin", false},
	{"unit", "nginx@.service", false}, {"exe", "*", true},
	{"exe", "/usr/sbin", false},       {"cmdline", "^nginx: worker", true},
	{"cmdline", "^worker", false},
};

TEST(a_match_means_what_it_says)
{
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		struct match m;

		ck_assert_int_eq(
			match_init(matches[i].kind, matches[i].value, &m), 0);
		ck_assert_msg(match_process(&m, &web) == matches[i].expected,
		              "%s %s", matches[i].kind, matches[i].value);
		match_done(&m);
	}
}
END

/*
 * A count would reveal whether some command line elsewhere begins like the
 * pattern.
 */
TEST(matches_of_a_pattern_outside_of_the_scope_are_not_counted)
{
	static const struct {
		const char *kind, *value;
		bool counted;
	} rows[] = {
		{"unit", "web.service", true},
		{"exe", "/usr/bin/web", true},
		{"cmdline", "web", false},
		{"container", "web*", false},
		{"label", "{\"secret\": \"a*\"}", false},
		{"exe", "*", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct match m;

		ck_assert_int_eq(match_init(rows[i].kind, rows[i].value, &m),
		                 0);
		ck_assert_msg(match_counts_others(&m) == rows[i].counted,
		              "%s %s", rows[i].kind, rows[i].value);
		match_done(&m);
	}
}
END

TEST(a_command_line_does_not_mean_stoker_or_who_tells_it_the_pattern)
{
	static const struct {
		const char *exe, *cmdline;
		bool expected;
	} rows[] = {
		{"/opt/shop/shopd", "shopd --port 80", true},
		{"/usr/bin/python3", "python3 -m shopd", true},
		{"/usr/bin/stoker-exporter", "stoker-exporter shopd", true},
		{"/opt/shop/shopd", "shopd --cmdline none", true},
		{"", "shopd", true},
		{"/usr/bin/stoker", "stoker service show shopd", false},
		{"/usr/bin/stoker (deleted)", "stoker run shopd", false},
		{"/usr/sbin/stoker-api", "stoker-api shopd", false},
		{"/usr/sbin/stoker-worker", "stoker-worker shopd", false},
		{"/bin/dash", "sh -c stoker service add s --cmdline shopd",
	         false},
		{"/usr/bin/sudo", "sudo stoker service add s --cmdline=shopd",
	         false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct proc p = {.pid = 10,
		                       .exe = (char *)rows[i].exe,
		                       .cmdline = (char *)rows[i].cmdline,
		                       .unit = (char *)""};
		struct match m;

		ck_assert_int_eq(match_init("cmdline", "shopd", &m), 0);
		ck_assert_msg(match_process(&m, &p) == rows[i].expected, "%s",
		              rows[i].cmdline);
		match_done(&m);
	}
}
END

TEST(a_replaced_program_is_still_the_same)
{
	struct proc p = web;
	struct match m;

	p.exe = "/usr/sbin/nginx (deleted)";
	ck_assert_int_eq(match_init("exe", "/usr/sbin/nginx", &m), 0);
	ck_assert(match_process(&m, &p));
	match_done(&m);
}
END

static const struct {
	const char *kind, *value;
} senseless[] = {
	{"", "x"},        {"pid", "1"},         {"exe", "nginx"},
	{"cmdline", "("}, {"pidFile", "x.pid"},
};

TEST(a_match_that_makes_no_sense_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(senseless); i++) {
		struct match m;

		ck_assert_int_eq(
			match_init(senseless[i].kind, senseless[i].value, &m),
			-EINVAL);
	}
}
END

static int
pid_file(void *arg, const char *path, int32_t *out)
{
	ck_assert_str_eq(path, "/run/web.pid");
	*out = 10;
	return *(int *)arg;
}

TEST(a_pid_file_that_cannot_be_read_matches_nothing)
{
	int rc = 0;
	const struct match_reader reader = {pid_file, &rc};
	struct match m;

	ck_assert_int_eq(match_init("pidFile", "/run/web.pid", &m), 0);
	ck_assert(!match_process(&m, &web));
	match_refresh(&m, &reader);
	ck_assert(match_process(&m, &web));
	rc = -ENOENT;
	match_refresh(&m, &reader);
	ck_assert(!match_process(&m, &web));
	match_done(&m);
}
END

static void
point(const char *dir, const char *to)
{
	char target[128], link[128];

	snprintf(target, sizeof(target), "%s/%s", dir, to);
	snprintf(link, sizeof(link), "%s/current", dir);
	close(open(target, O_WRONLY | O_CREAT, 0700));
	unlink(link);
	ck_assert_int_eq(symlink(to, link), 0);
}

/* Processes that run what the link named before are found after an upgrade,
 * too. */
TEST(an_executable_by_a_link_is_the_one_it_leads_to_or_led_to)
{
	static const struct {
		const char *to;
		bool one, two, three;
	} rows[] = {
		{"one", true, false, false},
		{"two", true, true, false},
		{"three", false, true, true},
	};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	char exe[128];
	struct proc p = {.exe = exe, .unit = ""};
	struct match m, next;

	snprintf(exe, sizeof(exe), "%s/current", t.dir);
	ck_assert_int_eq(match_init("exe", exe, &m), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		point(t.dir, rows[i].to);
		match_refresh(&m, NULL);
		match_refresh(&m, NULL); /* nothing new is there */
		ck_assert_int_eq(match_init("exe", m.value, &next), 0);
		match_keep(&next, &m); /* services are read again */
		match_done(&m);
		m = next;
		snprintf(exe, sizeof(exe), "%s/one", t.dir);
		ck_assert(match_process(&m, &p) == rows[i].one);
		snprintf(exe, sizeof(exe), "%s/two", t.dir);
		ck_assert(match_process(&m, &p) == rows[i].two);
		snprintf(exe, sizeof(exe), "%s/three (deleted)", t.dir);
		ck_assert(match_process(&m, &p) == rows[i].three);
	}
	match_done(&m);
}
END

static const struct {
	const char *units, *exe, *uids;
	bool expected;
} scopes[] = {
	{NULL, NULL, NULL, false},
	{"", "", "", false},
	{"*", NULL, NULL, true},
	{"a.service nginx.service", NULL, NULL, true},
	{"a.service", NULL, NULL, false},
	{NULL, "/usr/sbin", NULL, true},
	{NULL, "/usr/sbin/", NULL, true},
	{NULL, "/opt /usr/sbin/nginx", NULL, true},
	{NULL, "/usr/sb", NULL, false},
	{NULL, "/usr/sbin/nginx/", NULL, false},
	{NULL, "*", NULL, true},
	{NULL, NULL, "33", true},
	{NULL, NULL, "3 333", false},
	{"a.service", "/opt", "33", true},
	{"nginx@.service", NULL, NULL, false},
};

TEST(a_scope_is_what_its_lists_name_and_none_is_nothing)
{
	ck_assert(!match_scope(NULL, &web));
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		struct conf_tenant s = {.tenant = TEST_TENANT,
		                        .units = (char *)scopes[i].units,
		                        .exe = (char *)scopes[i].exe,
		                        .uids = (char *)scopes[i].uids};

		ck_assert_msg(match_scope(&s, &web) == scopes[i].expected,
		              "scope %zu", i);
	}
}
END

static const struct {
	uid_t owner;
	const char *space, *name, *namespaces, *containers;
	bool expected;
} contained[] = {
	{0, "shop", "web", "shop", NULL, true},
	{0, "shop", "web", "pay", "web", false},
	{1000, "shop", "web", "shop", "1000:web", false},
	{0, NULL, "web", NULL, "web", true},
	{0, NULL, "web", NULL, "api", false},
	{0, NULL, "web", NULL, NULL, false},
	{1000, NULL, "web", NULL, "1000:web", true},
	{1000, NULL, "web", NULL, "web", false}, /* any user may name one so */
	{1000, NULL, "web", NULL, "1001:web", false},
};

TEST(a_scope_has_the_containers_of_its_namespaces_and_names)
{
	for (size_t i = 0; i < ARRAY_LEN(contained); i++) {
		const struct conf_tenant s = {
			.tenant = TEST_TENANT,
			.namespaces = (char *)contained[i].namespaces,
			.containers = (char *)contained[i].containers};
		struct container c = {
			.named = true,
			.owner = contained[i].owner,
			.facts.facts = {
				[CONTAINER_NAMESPACE] =
					(char *)contained[i].space,
				[CONTAINER_NAME] = (char *)contained[i].name}};
		struct proc p = web;

		p.container = &c;
		ck_assert_msg(match_scope(&s, &p) == contained[i].expected,
		              "row %zu", i);
	}
}
END

/* --- ordinals ------------------------------------------------------------- */

static struct conf_tenant everything = {.tenant = TEST_TENANT, .exe = "*"};

struct rig {
	struct test_store store;
	struct conf conf;
	struct targets targets;
	struct proc procs[4];
	struct proc_table table;
	int64_t now_ns;
};
#define CLEANUP_HOST CLEANUP(host_done)

static void
host_init(struct rig *h)
{
	*h = (struct rig){.store = test_store(),
	                  .conf = {.tenants = &everything, .ntenants = 1},
	                  .targets = {.host = TEST_HOST, .boot_id = "boot"}};
	test_heartbeat(&h->store.s, TEST_HOST, 0);
	ck_assert_int_eq(targets_load(&h->targets, &h->store.s), 0);
	h->table = (struct proc_table){.items = h->procs};
}

static void
host_done(struct rig *h)
{
	targets_done(&h->targets);
	test_store_done(&h->store);
}

static void
look(struct rig *h)
{
	h->table.items = h->procs;
	ck_assert_int_eq(targets_match(&h->targets, &h->conf, &h->table), 0);
	ck_assert_int_eq(
		targets_publish(&h->targets, &h->store.s, &h->table, h->now_ns),
		0);
}

/* Sets the processes of svc (/bin/true) by pid, then looks at them. */
static void
see(struct rig *h, size_t n, const int32_t *pids, const uint64_t *starts)
{
	for (size_t i = 0; i < n; i++)
		h->procs[i] = (struct proc){.pid = pids[i],
		                            .start_time = starts[i],
		                            .exe = "/bin/true",
		                            .cmdline = "true",
		                            .argv0 = "true",
		                            .unit = ""};
	h->table.n = n;
	look(h);
}

static void
expect(struct rig *h, size_t n, const int32_t *pids, const int64_t *ordinals)
{
	CLEANUP_PROCESSES struct process_list l = {0};

	ck_assert_int_eq(
		process_list(&h->store.s, TEST_TENANT, TEST_SERVICE, &l), 0);
	ck_assert_uint_eq(l.n, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(l.items[i].pid, pids[i]);
		ck_assert_int_eq(l.items[i].ordinal, ordinals[i]);
	}
}
#define LIST(...) __VA_ARGS__
#define SEE(h, pids, starts)                                            \
	see(h, ARRAY_LEN(((int32_t[]){pids})), (const int32_t[]){pids}, \
	    (const uint64_t[]){starts})
#define EXPECT(h, pids, ordinals)                                          \
	expect(h, ARRAY_LEN(((int32_t[]){pids})), (const int32_t[]){pids}, \
	       (const int64_t[]){ordinals})

TEST(ordinals_are_first_given_in_order_of_start)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11, 12), LIST(300, 100, 200));
	EXPECT(&h, LIST(11, 12, 10), LIST(0, 1, 2));
}
END

TEST(an_ordinal_stays_with_its_process_and_is_reused_after_it)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11, 12), LIST(1, 2, 3));
	SEE(&h, LIST(10, 12), LIST(1, 3));
	EXPECT(&h, LIST(10, 12), LIST(0, 2));
	SEE(&h, LIST(10, 12, 20, 21), LIST(1, 3, 8, 9));
	EXPECT(&h, LIST(10, 20, 12, 21), LIST(0, 1, 2, 3));
}
END

/* Databases accept only UTF-8. */
TEST(arguments_of_any_bytes_are_published_as_utf8)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	CLEANUP_HOST struct rig h;

	host_init(&h);
	h.procs[0] = (struct proc){.pid = 10,
	                           .start_time = 1,
	                           .exe = "/bin/true",
	                           .cmdline = "tr\xfc"
	                                      "e \xc3\xbc\xc3",
	                           .argv0 = "tr\xfc"
	                                    "e",
	                           .unit = ""};
	h.table.n = 1;
	look(&h);
	ck_assert_int_eq(
		process_list(&h.store.s, TEST_TENANT, TEST_SERVICE, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].argv0, "tr?e");
	ck_assert_str_eq(l.items[0].cmdline, "tr?e \xc3\xbc?");
}
END

TEST(a_pid_used_anew_is_another_process)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11), LIST(1, 2));
	SEE(&h, LIST(10, 11), LIST(9, 2));
	EXPECT(&h, LIST(10, 11), LIST(0, 1));
	ck_assert_uint_eq(h.targets.items[0].now[0].start_time, 9);
}
END

static void
expect_starts(struct rig *h, size_t n, const int64_t *starts)
{
	CLEANUP_PROCESSES struct process_list l = {0};

	ck_assert_int_eq(
		process_list(&h->store.s, TEST_TENANT, TEST_SERVICE, &l), 0);
	ck_assert_uint_eq(l.n, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(l.items[i].start_time, starts[i]);
}

TEST(a_pid_used_anew_waits_for_its_ordinal_and_is_published)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10), LIST(1));
	SEE(&h, LIST(10), LIST(9));
	expect_starts(&h, 1, (const int64_t[]){9});
	SEE(&h, LIST(10, 11), LIST(30, 20)); /* 11 started first */
	EXPECT(&h, LIST(11, 10), LIST(0, 1));
	expect_starts(&h, 2, (const int64_t[]){20, 30});
}
END

TEST(the_next_worker_keeps_the_ordinals)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11, 12), LIST(1, 2, 3));
	targets_done(&h.targets);
	ck_assert_int_eq(targets_load(&h.targets, &h.store.s), 0);
	ck_assert_int_eq(targets_restore(&h.targets, &h.store.s), 0);
	SEE(&h, LIST(9, 12), LIST(0, 3));
	EXPECT(&h, LIST(9, 12), LIST(0, 2));
}
END

TEST(after_a_boot_ordinals_start_over)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11), LIST(1, 2));
	targets_done(&h.targets);
	h.targets.boot_id = "next";
	ck_assert_int_eq(targets_load(&h.targets, &h.store.s), 0);
	ck_assert_int_eq(targets_restore(&h.targets, &h.store.s), 0);
	SEE(&h, LIST(11), LIST(2));
	EXPECT(&h, LIST(11), LIST(0));
}
END

TEST(a_service_made_anew_shows_its_processes_again)
{
	CLEANUP_HOST struct rig h;
	struct service v = test_no_match(TEST_TENANT, TEST_SERVICE);

	host_init(&h);
	SEE(&h, LIST(10), LIST(1));
	ck_assert_int_eq(service_delete(&h.store.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	db_skew_clock(h.store.s.db, 1000);
	v.match_kind = "exe";
	v.match_value = "/bin/true";
	ck_assert_int_eq(service_add(&h.store.s, &v), 0);
	ck_assert_int_eq(targets_load(&h.targets, &h.store.s), 0);
	SEE(&h, LIST(10), LIST(1));
	EXPECT(&h, LIST(10), LIST(0));
}
END

TEST(a_deleted_service_is_published_as_nothing)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	ck_assert_int_eq(service_delete(&h.store.s, TEST_TENANT, TEST_SERVICE),
	                 0);
	SEE(&h, LIST(10), LIST(1)); /* not noticed yet: no error */
}
END

/* The processes that captures of svc, or of one of its ordinals, include. */
static struct followed
followed(const struct rig *h, int64_t ordinal)
{
	struct followed f;

	targets_followed(&h->targets, TEST_TENANT, TEST_SERVICE, ordinal, &f);
	return f;
}

TEST(a_service_is_found_by_its_tenant_and_name)
{
	static const char *const tenants[] = {TEST_TENANT, "other"};
	CLEANUP_HOST struct rig h;

	host_init(&h);
	test_tenant(&h.store.s, "other");
	ck_assert_int_eq(targets_load(&h.targets, &h.store.s), 0);
	for (size_t i = 0; i < ARRAY_LEN(tenants); i++)
		ck_assert_str_eq(
			targets_find(&h.targets, tenants[i], TEST_SERVICE)
				->tenant,
			tenants[i]);
	ck_assert_ptr_null(targets_find(&h.targets, "third", TEST_SERVICE));
}
END

TEST(a_tenant_without_a_scope_sees_nothing)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10), LIST(1));
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).n, 1);
	h.conf.ntenants = 0;
	SEE(&h, LIST(10), LIST(1));
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).n, 0);
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).left.refused, 1);
}
END

TEST(an_ordinal_picks_one_process)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	SEE(&h, LIST(10, 11), LIST(1, 2));
	ck_assert_uint_eq(followed(&h, 1).n, 1);
	ck_assert_int_eq(followed(&h, 1).pids[0], 11);
	ck_assert_uint_eq(followed(&h, 2).n, 0);
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).n, 2);
}
END

/* --- what descends from them ---------------------------------------------- */

struct relative {
	int32_t pid, parent;
	uint64_t start;
	const char *exe, *unit;
};
#define SVC   "/bin/true" /* matches svc */
#define OTHER "/bin/other"

static void
meet(struct rig *h, struct proc *procs, const struct relative *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		procs[i] = (struct proc){.pid = rows[i].pid,
		                         .parent = rows[i].parent,
		                         .start_time = rows[i].start,
		                         .exe = (char *)rows[i].exe,
		                         .cmdline = (char *)rows[i].exe,
		                         .argv0 = (char *)rows[i].exe,
		                         .unit = (char *)rows[i].unit};
	h->table.items = procs;
	h->table.n = n;
	ck_assert_int_eq(targets_match(&h->targets, &h->conf, &h->table), 0);
}
#define MEET(h, ...)                                                         \
	meet(h,                                                              \
	     (struct proc[ARRAY_LEN(((struct relative[]){__VA_ARGS__}))]){}, \
	     (const struct relative[]){__VA_ARGS__},                         \
	     ARRAY_LEN(((struct relative[]){__VA_ARGS__})))

static void
expect_followed(const struct rig *h, int64_t ordinal, size_t n,
                const int32_t *pids)
{
	struct followed f = followed(h, ordinal);

	ck_assert_uint_eq(f.n, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(f.pids[i], pids[i]);
}
#define EXPECT_FOLLOWED(h, ordinal, pids)                           \
	expect_followed(h, ordinal, ARRAY_LEN(((int32_t[]){pids})), \
	                (const int32_t[]){pids})

TEST(what_descends_from_a_match_is_followed_with_it)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {5, 1, 1, OTHER, ""}, {10, 5, 1, SVC, ""},
	     {11, 10, 2, OTHER, ""}, {12, 11, 3, OTHER, ""},
	     {13, 10, 3, OTHER, ""}, {20, 5, 9, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 11, 12, 13));
	EXPECT_FOLLOWED(&h, 0, LIST(10, 11, 12, 13));
}
END

TEST(who_is_found_late_is_counted_unless_its_parent_is_followed)
{
	CLEANUP_HOST struct rig h;
	uint32_t before;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""});
	before = followed(&h, SESSION_ALL_ORDINALS).late;
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, OTHER, ""},
	     {12, 11, 3, SVC, ""});
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).late, before);
	MEET(&h, {10, 1, 1, SVC, ""}, {20, 1, 4, SVC, ""}, {21, 1, 4, SVC, ""});
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).late, before + 2);
	MEET(&h, {20, 1, 4, SVC, ""}, {30, 1, 5, SVC, ""});
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).late, before + 3);
	/* A parent that is known, but not followed. */
	MEET(&h, {5, 1, 1, OTHER, ""}, {30, 1, 5, SVC, ""},
	     {50, 5, 6, SVC, ""});
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).late, before + 4);
}
END

TEST(a_descendant_that_matches_has_an_ordinal_of_its_own)
{
	CLEANUP_HOST struct rig h;
	int32_t strangers[4];
	size_t at = 0;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, SVC, ""},
	     {12, 11, 3, OTHER, ""}, {13, 10, 4, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 11, 13, 12));
	EXPECT_FOLLOWED(&h, 0, LIST(10, 13));
	EXPECT_FOLLOWED(&h, 1, LIST(11, 12));
	ck_assert_uint_eq(targets_strangers(&h.targets, TEST_TENANT,
	                                    TEST_SERVICE, 0, &at, strangers, 4),
	                  2);
	ck_assert_int_eq(strangers[0], 11);
	ck_assert_int_eq(strangers[1], 12);
}
END

TEST(a_descendant_in_another_unit_is_left_out_and_counted)
{
	CLEANUP_HOST struct rig h;
	int32_t strangers[4];
	size_t at = 0;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, "a.service"}, {11, 10, 2, OTHER, "b.scope"},
	     {12, 11, 3, OTHER, "b.scope"}, {13, 11, 3, OTHER, "a.service"},
	     {14, 10, 3, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 13));
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).left.other_unit,
	                  3);
	ck_assert_uint_eq(targets_strangers(&h.targets, TEST_TENANT,
	                                    TEST_SERVICE, SESSION_ALL_ORDINALS,
	                                    &at, strangers, 2),
	                  2);
	ck_assert_int_eq(strangers[0], 11);
	ck_assert_uint_eq(targets_strangers(&h.targets, TEST_TENANT,
	                                    TEST_SERVICE, SESSION_ALL_ORDINALS,
	                                    &at, strangers, 2),
	                  1);
	ck_assert_int_eq(strangers[0], 14);
}
END

TEST(a_descendant_outside_of_the_scope_is_left_out_and_counted)
{
	CLEANUP_HOST struct rig h;
	struct conf_tenant narrow = {.tenant = TEST_TENANT, .exe = SVC};

	host_init(&h);
	h.conf.tenants = &narrow;
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, OTHER, ""},
	     {12, 11, 3, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10));
	ck_assert_uint_eq(followed(&h, 0).left.out_of_scope, 2);
	ck_assert_uint_eq(followed(&h, 0).left.other_unit, 0);
}
END

/* The parent has ended, and a descendant of svc got its pid. */
TEST(a_parent_is_never_younger_than_its_child)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 8, OTHER, ""},
	     {12, 11, 3, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 11));
}
END

TEST(parents_in_a_circle_end_the_walk)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 11, 1, SVC, ""}, {11, 12, 1, OTHER, ""},
	     {12, 10, 1, OTHER, ""}, {13, 13, 1, OTHER, ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 12, 11));
}
END

TEST(a_child_that_has_ended_is_not_counted)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, "a.service"}, {11, 10, 2, "", ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10));
	ck_assert_uint_eq(followed(&h, 0).left.other_unit, 0);
}
END

TEST(the_stamp_changes_with_whom_a_capture_is_of)
{
	CLEANUP_HOST struct rig h;
	uint64_t one, two;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, OTHER, ""});
	one = followed(&h, 0).stamp;
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, OTHER, ""},
	     {99, 1, 2, OTHER, ""});
	ck_assert(followed(&h, 0).stamp == one);
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 3, OTHER, ""});
	two = followed(&h, 0).stamp;
	ck_assert(two != one); /* a reused pid: another process */
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 3, OTHER, "a.service"});
	ck_assert(followed(&h, 0).stamp != two);
}
END

static struct process_tree
published(struct rig *h)
{
	CLEANUP_TREES struct process_tree_list l = {0};
	struct process_tree row = {.host = NULL};

	ck_assert_int_eq(
		targets_publish(&h->targets, &h->store.s, &h->table, h->now_ns),
		0);
	ck_assert_int_eq(
		process_tree_list(&h->store.s, TEST_TENANT, TEST_SERVICE, &l),
		0);
	ck_assert_uint_eq(l.n, 1);
	row.followed = l.items[0].followed;
	row.other_unit = l.items[0].other_unit;
	row.refused = l.items[0].refused;
	return row;
}

TEST(how_many_are_captured_is_published_now_and_then)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, "a.service"}, {11, 10, 2, OTHER, "b.scope"});
	ck_assert_int_eq(published(&h).followed, 1);
	ck_assert_int_eq(published(&h).other_unit, 1);
	MEET(&h, {10, 1, 1, SVC, "a.service"}, {11, 10, 2, OTHER, "a.service"});
	h.now_ns += TARGETS_SHOW_NS - 1;
	ck_assert_int_eq(published(&h).followed, 1);
	ck_assert(h.targets.waits);
	h.now_ns++;
	ck_assert_int_eq(published(&h).followed, 2);
	ck_assert(!h.targets.waits);
}
END

TEST(that_nothing_may_be_profiled_is_published_at_once)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""});
	ck_assert_int_eq(published(&h).refused, 0);
	h.conf.ntenants = 0;
	MEET(&h, {10, 1, 1, SVC, ""});
	ck_assert_int_eq(published(&h).refused, 1);
}
END

TEST(services_that_are_read_again_keep_their_members)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	MEET(&h, {10, 1, 1, SVC, ""}, {11, 10, 2, OTHER, ""});
	ck_assert_int_eq(targets_load(&h.targets, &h.store.s), 0);
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10, 11));
}
END

#define MANY (WORKER_MAX_PIDS + 20)

TEST(more_than_are_followed_are_counted)
{
	CLEANUP_HOST struct rig h;
	static struct relative rows[MANY];
	static struct proc procs[MANY];

	host_init(&h);
	for (int i = 0; i < MANY; i++)
		rows[i] = (struct relative){i + 10, i ? 10 : 1, (uint64_t)i,
		                            i ? OTHER : SVC, ""};
	meet(&h, procs, rows, MANY);
	ck_assert_uint_eq(followed(&h, 0).n, WORKER_MAX_PIDS);
	ck_assert_uint_eq(followed(&h, 0).left.too_many, 20);
	for (int i = 0; i < MANY; i++)
		rows[i].exe = SVC;
	for (int i = 0; i < MANY; i++)
		rows[i].parent = 1;
	meet(&h, procs, rows, MANY);
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).n, TARGET_SLOTS);
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).left.too_many,
	                  MANY - TARGET_SLOTS);
}
END

/* Makes svc a service of any program. */
static void
match_any(struct rig *h)
{
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(
		service_get(&h->store.s, TEST_TENANT, TEST_SERVICE, &v), 0);
	free(v.match_value);
	v.match_value = strdup("*");
	ck_assert_int_eq(service_replace(&h->store.s, &v), 0);
	ck_assert_int_eq(targets_load(&h->targets, &h->store.s), 0);
}

TEST(a_match_of_any_program_has_one_ordinal_and_all_processes)
{
	CLEANUP_HOST struct rig h;

	host_init(&h);
	match_any(&h);
	MEET(&h, {10, 1, 3, SVC, "a.service"}, {11, 10, 4, OTHER, "b.service"},
	     {12, 1, 2, OTHER, ""}, {13, 1, 5, "", ""});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(12, 10, 11));
	ck_assert_uint_eq(followed(&h, 1).n, 0);
	ck_assert_int_eq(followed(&h, 0).titles, TITLES_WITH_KERNEL);
}
END

TEST(a_match_of_any_program_stays_within_the_scope)
{
	CLEANUP_HOST struct rig h;
	struct conf_tenant some = {.tenant = TEST_TENANT, .units = "a.service"};
	struct followed f;

	host_init(&h);
	match_any(&h);
	h.conf.tenants = &some;
	MEET(&h, {10, 1, 3, SVC, "a.service"}, {11, 10, 4, OTHER, "b.service"});
	EXPECT_FOLLOWED(&h, SESSION_ALL_ORDINALS, LIST(10));
	f = followed(&h, SESSION_ALL_ORDINALS);
	ck_assert_uint_eq(f.left.refused, 0);
	ck_assert_int_eq(f.titles, TITLES_OF_PROCESSES);
}
END

TEST(more_processes_than_have_ordinals_are_of_any_program)
{
	static struct relative rows[TARGET_SLOTS + 10];
	static struct proc procs[TARGET_SLOTS + 10];
	CLEANUP_HOST struct rig h;

	host_init(&h);
	match_any(&h);
	for (int i = 0; i < TARGET_SLOTS + 10; i++)
		rows[i] = (struct relative){i + 10, 1, (uint64_t)i, OTHER, ""};
	meet(&h, procs, rows, ARRAY_LEN(rows));
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).n,
	                  TARGET_SLOTS + 10);
	ck_assert_uint_eq(followed(&h, SESSION_ALL_ORDINALS).left.too_many, 0);
}
END

SUITE("targets");
