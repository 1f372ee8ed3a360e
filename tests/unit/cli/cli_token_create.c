/* stoker token create: makes a key in the store directly. */
#include "cli/cli.h"
#include "lib/store.h"
#include "store/token.h"

#include <string.h>

static const struct {
	const char *role, *tenants; /* NULL: not given */
	int leaves;
	const char *got_role, *got_tenants;
} asked[] = {
	{NULL, NULL, LEAVE_OK, "viewer", "default"},
	{"viewer", "a", LEAVE_OK, "viewer", "a"},
	{"operator", "a,b", LEAVE_OK, "operator", "a b"},
	{"admin", "b,a", LEAVE_OK, "admin", "b a"},
	{"root", "a", LEAVE_USAGE, NULL, NULL},
	{"", "a", LEAVE_USAGE, NULL, NULL},
	{"viewer", "*", LEAVE_USAGE, NULL, NULL},
	{"viewer", "a,*", LEAVE_USAGE, NULL, NULL},
	{"viewer", "a b", LEAVE_USAGE, NULL, NULL},
	{"viewer", "a,", LEAVE_USAGE, NULL, NULL},
};

TEST(a_key_is_made_for_a_role_and_tenants_that_have_a_name)
{
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP(token_list_done) struct token_list l = {0};
		const char *const name[] = {"n"};
		struct cli c = {
			.operands = name,
			.noperands = 1,
			.opt = {.config = "/dev/null",
		                .state = t.dir,
		                .role = asked[i].role,
		                .tenant = asked[i].tenants},
		};

		ck_assert_msg(cmd_token_create(&c) == asked[i].leaves,
		              "row %zu", i);
		ck_assert_int_eq(
			token_list(&t.s, "*", (struct page){10, ""}, &l), 0);
		ck_assert_uint_eq(l.n, asked[i].leaves == LEAVE_OK);
		if (!l.n)
			continue;
		ck_assert_str_eq(l.items[0].role, asked[i].got_role);
		ck_assert_str_eq(l.items[0].tenants, asked[i].got_tenants);
	}
}
END

SUITE("cli_token_create");
