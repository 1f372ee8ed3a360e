#include "store/names.h"

#include "endpoint/call/pushes.h"
#include "lib/store.h"
#include "profile/merge.h"
#include "range/names.h"

#include <errno.h>
#include <string.h>

#define ID     "00112233445566778899aabbccddeeff00112233"
#define MOVED  UINT64_C(0x7f1200000000)
#define ELSE   UINT64_C(0x55aa00000000)
#define LENGTH UINT64_C(0x5000)

static struct names_place
place(uint64_t start)
{
	return (struct names_place){ID, "/srv/web", start, start + LENGTH,
	                            0x1000};
}

static void
want(struct test_store *t, const char *tenant, uint64_t start,
     const uint64_t *addresses, uint32_t n)
{
	const struct names_wanted w = {place(start), addresses, n};

	ck_assert_int_eq(names_want(&t->s, tenant, "web", &w, 1), 0);
}

/* Names all addresses that wait. Returns their number. */
static uint32_t
name_all(struct test_store *t)
{
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	CLEANUP_BUF struct buf text = BUF_INIT(NAMES_MAX_TEXT);
	CLEANUP_FREE uint64_t *addresses = NULL;
	char *lines[8] = {0};
	uint32_t n = 0;

	if (names_claim(&t->s, TEST_HOST, "", &m, &addresses, &n))
		return 0;
	ck_assert_uint_le(n, ARRAY_LEN(lines));
	ck_assert_str_eq(m.build_id, ID);
	names_line_put(&(struct names_line){"in\nlined", "in", "a.c", 3, 1},
	               &text);
	names_line_put(&(struct names_line){"outer", "outer", "", 0, 0}, &text);
	for (uint32_t i = 0; i < n; i++)
		lines[i] = (char *)buf_str(&text);
	ck_assert_int_eq(names_finish(&t->s, &m, addresses, lines, n), 0);
	return n;
}

/* Makes a profile of one stack, of these addresses without names. */
static uint32_t
named(const struct profile *p)
{
	uint32_t n = UINT32_MAX;

	ck_assert_int_eq(profile_count_named(p, &n), 0);
	return n;
}

static struct profile *
stack_of(uint64_t start, const uint64_t *addresses, uint32_t n)
{
	struct profile *p = profile_new();
	struct mapping m = {
		.start = start, .limit = start + LENGTH, .offset = 0x1000};
	uint32_t mapping, stack[8];
	const int64_t one = 1;

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, ID, &m.build_id), 0);
	ck_assert_int_eq(profile_cstring(p, "/srv/web", &m.file), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(profile_location(p, mapping, addresses[i],
		                                  NULL, 0, &stack[i]),
		                 0);
	ck_assert_int_eq(profile_sample(p, stack, n, NULL, 0, &one), 0);
	return p;
}

TEST(frames_get_names_wherever_their_module_lies)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10, MOVED + 0x20};
	const uint64_t other[] = {ELSE + 0x20, ELSE + 0x30};
	CLEANUP_PROFILE struct profile *p = stack_of(ELSE, other, 2);
	const struct location *l;
	int64_t before = -1, after = -1;

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 2);
	ck_assert_int_eq(names_version(&t.s, TEST_TENANT, &before), 0);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &p), 0);
	ck_assert_uint_eq(named(p), 0);
	ck_assert_uint_eq(name_all(&t), 2);
	ck_assert_int_eq(names_version(&t.s, TEST_TENANT, &after), 0);
	ck_assert_int_ne(before, after);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &p), 0);
	ck_assert_uint_eq(named(p), 1);
	l = &p->locations[p->stack[0]];
	ck_assert_uint_eq(l->nlines, 2);
	ck_assert_str_eq(
		profile_text(p, p->functions[p->lines[l->line0].function].name),
		"in lined");
	ck_assert_int_eq(p->lines[l->line0].line, 3);
	ck_assert_int_eq(profile_total(p, 0), 1);
}
END

/* Claims a module, as if this tenant was served last; returns its tenant. */
static const char *
turn(struct test_store *t, const char *last)
{
	static char tenant[STORE_TENANT_MAX];
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	CLEANUP_FREE uint64_t *addresses = NULL;
	uint32_t n;

	ck_assert_int_eq(
		names_claim(&t->s, TEST_HOST, last, &m, &addresses, &n), 0);
	snprintf(tenant, sizeof(tenant), "%s", m.tenant);
	return tenant;
}

TEST(a_tenant_with_many_modules_keeps_no_other_waiting)
{
	static const char *const others[] = {"a", "zz"}; /* either side */

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		const uint64_t one = 0x10;

		test_heartbeat(&t.s, TEST_HOST, 0);
		for (uint64_t k = 0; k < 4; k++) {
			/* mapped at its own address, each is a module */
			uint64_t start = 0x100000 * (k + 1), at = start + one;

			want(&t, TEST_TENANT, start, &at, 1);
		}
		want(&t, others[i], 0x100000, &(uint64_t){0x100000 + one}, 1);
		ck_assert_str_eq(turn(&t, TEST_TENANT), others[i]);
		ck_assert_str_eq(turn(&t, others[i]), TEST_TENANT);
		ck_assert_str_eq(turn(&t, TEST_TENANT), TEST_TENANT);
	}
}
END

TEST(names_of_a_tenant_are_not_those_of_another)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};
	CLEANUP_PROFILE struct profile *p = stack_of(MOVED, pushed, 1);

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_uint_eq(name_all(&t), 1);
	ck_assert_int_eq(range_names_put(&t.s, "other", "web", &p), 0);
	ck_assert_uint_eq(named(p), 0);
}
END

TEST(what_a_pushed_file_may_name_is_asked_for_when_it_is_read)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t read[] = {MOVED + 0x10, MOVED + 0x20};
	const uint64_t more[] = {ELSE + 0x20, ELSE + 0x30};
	CLEANUP_PROFILE struct profile *p = stack_of(MOVED, read, 2);
	CLEANUP_PROFILE struct profile *q = stack_of(ELSE, more, 2);

	test_heartbeat(&t.s, TEST_HOST, 0);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &p), 0);
	ck_assert_uint_eq(name_all(&t), 0); /* there is no file */
	test_sql(&t,
	         "INSERT INTO debug_file VALUES ('dbg-1', '" TEST_TENANT
	         "', 'web', '" ID "', '', '', 'stored', '', 1, 1, 1)",
	         NULL, 0);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &p), 0);
	ck_assert_uint_eq(named(p), 0);
	ck_assert_uint_eq(name_all(&t), 2);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &p), 0);
	ck_assert_uint_eq(named(p), 2);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &q), 0);
	ck_assert_uint_eq(named(q), 1);
	ck_assert_uint_eq(name_all(&t), 1);
	ck_assert_int_eq(range_names_put(&t.s, TEST_TENANT, "web", &q), 0);
	ck_assert_uint_eq(named(q), 2);
	ck_assert_int_eq(range_names_put(&t.s, "other", "web", &q), 0);
	ck_assert_uint_eq(name_all(&t), 0);
}
END

TEST(the_names_of_a_tenant_have_a_version_of_their_own)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};
	int64_t version = -1;

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_uint_eq(name_all(&t), 1);
	ck_assert_int_eq(names_version(&t.s, "other", &version), 0);
	ck_assert_int_eq(version, 0);
	/* the same module, for the other tenant alone */
	want(&t, "other", MOVED, pushed, 1);
	ck_assert_uint_eq(name_all(&t), 1);
}
END

TEST(modules_are_named_by_their_own_host)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	CLEANUP_FREE uint64_t *addresses = NULL;
	uint32_t n;

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_int_eq(names_claim(&t.s, "elsewhere", "", &m, &addresses, &n),
	                 -ENOENT);
	ck_assert_int_eq(names_claim(&t.s, TEST_HOST, "", &m, &addresses, &n),
	                 0);
	ck_assert_int_eq(names_take_over(&t.s, "elsewhere"), 0);
	ck_assert_uint_eq(name_all(&t), 0);
	ck_assert_int_eq(names_take_over(&t.s, TEST_HOST), 0);
	ck_assert_uint_eq(name_all(&t), 1);
}
END

TEST(what_is_pushed_again_is_looked_for_once)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10, MOVED + 0x20};
	const uint64_t again[] = {ELSE + 0x10};

	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_uint_eq(name_all(&t), 0); /* no worker could */
	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_uint_eq(name_all(&t), 1);
	want(&t, TEST_TENANT, ELSE, again, 1);
	ck_assert_uint_eq(name_all(&t), 0);
	want(&t, TEST_TENANT, MOVED, pushed, 2);
	ck_assert_uint_eq(name_all(&t), 1);
}
END

TEST(what_has_no_name_is_looked_for_again_when_files_came)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};
	CLEANUP_NAMES_MODULE struct names_module m = {0};
	CLEANUP_FREE uint64_t *addresses = NULL;
	uint32_t n;

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	ck_assert_int_eq(names_claim(&t.s, TEST_HOST, "", &m, &addresses, &n),
	                 0);
	ck_assert_int_eq(names_finish(&t.s, &m, addresses, (char *[]){NULL}, 1),
	                 0);
	ck_assert_uint_eq(name_all(&t), 0);
	ck_assert_int_eq(names_again(&t.s, "elsewhere"), 0);
	ck_assert_uint_eq(name_all(&t), 0);
	ck_assert_int_eq(names_again(&t.s, TEST_HOST), 0);
	ck_assert_uint_eq(name_all(&t), 1);
	ck_assert_int_eq(names_again(&t.s, TEST_HOST), 0);
	ck_assert_uint_eq(name_all(&t), 0);
}
END

TEST(what_kills_workers_is_given_up)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};

	test_heartbeat(&t.s, TEST_HOST, 0);
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	for (int i = 0; i < NAMES_TRIES; i++) {
		CLEANUP_NAMES_MODULE struct names_module m = {0};
		CLEANUP_FREE uint64_t *addresses = NULL;
		uint32_t n;

		ck_assert_int_eq(
			names_claim(&t.s, TEST_HOST, "", &m, &addresses, &n),
			0);
		ck_assert_int_eq(names_take_over(&t.s, TEST_HOST), 0);
	}
	ck_assert_uint_eq(name_all(&t), 0);
}
END

TEST(modules_of_a_tenant_are_limited)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const uint64_t pushed[] = {MOVED + 0x10};
	char n[16];

	test_heartbeat(&t.s, TEST_HOST, 0);
	test_sql(&t,
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	         "FROM n WHERE i < 1000) INSERT INTO unnamed_module SELECT "
	         "'mod-' || i, '" TEST_TENANT "', 'web', 'h', 'x' || i, '', "
	         "0, 0, 0, 'done', 0, 0, 0, 0, 0, 0 FROM n RETURNING 1",
	         n, sizeof(n));
	want(&t, TEST_TENANT, MOVED, pushed, 1);
	test_sql(&t, "SELECT COUNT(*) FROM unnamed_frame", n, sizeof(n));
	ck_assert_str_eq(n, "0");
	want(&t, "other", MOVED, pushed, 1);
	test_sql(&t, "SELECT COUNT(*) FROM unnamed_frame", n, sizeof(n));
	ck_assert_str_eq(n, "1");
}
END

#define MANY 3000

/* Pushes a stack of many frames without names. */
static void
push_unnamed(struct test_store *t, struct pushes *to)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_PUSH struct push_windows w = {.tenant = TEST_TENANT,
	                                      .service = TEST_SERVICE,
	                                      .labels = "{}",
	                                      .max_series = 1,
	                                      .end_ms = 10};
	struct mapping m = {.start = MOVED, .limit = MOVED + LENGTH};
	uint32_t mapping, stack[MANY];
	int64_t value = 1;

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, ID, &m.build_id), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (uint32_t i = 0; i < MANY; i++)
		ck_assert_int_eq(profile_location(p, mapping, MOVED + i, NULL,
		                                  0, &stack[i]),
		                 0);
	for (uint32_t i = 0; i < MANY; i += PROFILE_MAX_FRAMES)
		ck_assert_int_eq(profile_sample(p, stack + i,
		                                MANY - i < PROFILE_MAX_FRAMES
		                                        ? MANY - i
		                                        : PROFILE_MAX_FRAMES,
		                                NULL, 0, &value),
		                 0);
	ck_assert_int_eq(push_add(&w, "cpu", p, NULL, 0), 0);
	ck_assert_int_eq(pushes_store(to, &t->s, &w, 1), 0);
}

/* Otherwise each push would be two transactions. */
TEST(a_process_asks_for_the_names_of_pushed_frames_once)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP(pushes_done) struct pushes p = PUSHES_INIT;
	char n[16];

	test_heartbeat(&t.s, TEST_HOST, 0);
	push_unnamed(&t, &p);
	test_sql(&t, "SELECT COUNT(*) FROM unnamed_frame", n, sizeof(n));
	ck_assert_str_eq(n, "3000");
	test_sql(&t, "DELETE FROM unnamed_frame RETURNING 1", n, sizeof(n));
	push_unnamed(&t, &p);
	test_sql(&t, "SELECT COUNT(*) FROM unnamed_frame", n, sizeof(n));
	ck_assert_str_eq(n, "0");
}
END

SUITE("names");
