/* stoker compare and check: the quantity in which they show functions. */
#include "cli/profile.h"
#include "cli/result.h"
#include "cli/verdict.h"
#include "lib/http_server.h"
#include "lib/test.h"

#include <string.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

static json_t *
by_rate(void)
{
	return json_pack("{s:{s:s}}", "test", "normalize", "rate");
}

TEST(a_rate_is_in_the_unit_of_the_profile_that_was_judged)
{
	static const struct canned row = {.path = PROFILES "/sess-a",
	                                  .bytes = OK
	                                  "{\"profileType\": \"alloc\"}"};
	CLEANUP(http_server_stop) struct http_server server;
	CLEANUP_BUF struct buf url = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = by_rate();
	struct cli c = {.opt = {.type = "cpu"}};

	http_server_start(&server, &row, 1);
	buf_addf(&url, "http://127.0.0.1:%u", server.port);
	c.http.server = buf_str(&url);
	ck_assert_str_eq(verdict_cost_of(&c, j, "sess-a").unit, "bytes");
	c.http.server = NULL;
	http_done(&c.http);
}
END

TEST(a_rate_of_a_range_is_in_the_unit_of_the_type_asked_for)
{
	CLEANUP_JSON json_t *j = by_rate();
	struct cli c = {.opt = {.type = "alloc"}};

	ck_assert_str_eq(verdict_cost_of(&c, j, "").unit, "bytes");
	c.opt.type = "cpu";
	ck_assert_str_eq(verdict_cost_of(&c, j, "").unit, "nanoseconds");
}
END

SUITE("cli_compare");
