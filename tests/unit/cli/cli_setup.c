/* stoker setup when the store has keys that others made. */
#include "base/clock.h"
#include "cli/cli.h"
#include "lib/store.h"
#include "store/token.h"

#include <string.h>

static const struct {
	const char *role; /* role of the existing key */
	int64_t holds_ms; /* valid for this long; 0: for ever */
	bool revoked;
	int leaves;
} others[] = {
	{"viewer", 0, false, LEAVE_OK},
	{"operator", 0, false, LEAVE_OK},
	{"admin", 0, true, LEAVE_OK},
	{"admin", -1000, false, LEAVE_OK},
	{"admin", 0, false, LEAVE_FAILED},
	{"admin", 3600000, false, LEAVE_FAILED},
};

/* Makes the key of this row. */
static void
make_other(struct store *s, size_t i)
{
	const struct token_ask ask = {
		.name = "other",
		.role = others[i].role,
		.tenants = TEST_TENANT,
		.default_tenant = TEST_TENANT,
		.expires_ms = others[i].holds_ms
	                              ? clock_wall_ms() + others[i].holds_ms
	                              : 0,
	};
	char id[ID_MAX], key[TOKEN_KEY_MAX];

	ck_assert_int_eq(token_create(s, &ask, id, key), 0);
	if (others[i].revoked)
		ck_assert_int_eq(token_revoke(s, id), 0);
}

TEST(a_first_key_is_made_unless_an_admin_has_one_that_holds)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP_TOKENS struct token_list l = {0};
		/* nobody listens on port 0 */
		struct cli c = {.opt = {.config = "/dev/null", .state = t.dir},
		                .http.server = "http://127.0.0.1:0"};

		make_other(&t.s, i);
		setenv("HOME", t.dir, 1);
		unsetenv("XDG_CONFIG_HOME");
		ck_assert_msg(cmd_setup(&c) == others[i].leaves, "row %zu", i);
		ck_assert_int_eq(
			token_list(&t.s, "*", (struct page){10, ""}, &l), 0);
		ck_assert_uint_eq(l.n, others[i].leaves ? 1 : 2);
	}
}
END

SUITE("cli_setup");
