/* Windows sent by a host of a fleet read like those of this host's worker. */
#include "base/clock.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/windows.h"
#include "store/block.h"

#include <string.h>

#define MINUTE (60 * MS_PER_S)
#define HOUR   (60 * MINUTE)
#define T0     (20000 * 24 * HOUR)
#define FAR    "far"

/* Makes the store of host FAR, with two minutes and their hour. */
static struct test_store
far_store(void)
{
	static const char *const folded[] = {"main;f 60\n", "main;g 30\n"};
	struct test_store far = test_store();

	for (size_t i = 0; i < ARRAY_LEN(folded); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of(folded[i]);
		const struct test_window w = {
			.host = FAR,
			.start_ms = T0 + (int64_t)i * 5 * MINUTE,
			.span_ms = 10 * MS_PER_S,
			.profile = p,
		};
		char id[ID_MAX];

		test_window(&far.s, &w, id);
	}
	test_rollup(&far.s, WINDOW_MINUTE);
	test_rollup(&far.s, WINDOW_HOUR);
	snprintf(far.s.host, sizeof(far.s.host), FAR);
	return far;
}

static void
send_tier(struct test_store *far, struct test_api *a, enum block_tier tier)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block b = {0};
	int64_t cursor_ms;

	ck_assert_int_eq(block_of_windows(&far->s, TEST_TENANT, tier, T0,
	                                  T0 + HOUR, &bytes),
	                 0);
	ck_assert_int_eq(block_decode(bytes.p, bytes.len, &b, &why), 0);
	if (test_on_server())
		a->store.s.bytes = BYTES_DB;
	ck_assert_int_eq(block_accept(&a->store.s, FAR, &b, bytes.p, bytes.len,
	                              &cursor_ms),
	                 0);
}

static struct client_reply
get(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static double
number(const struct client_reply *r, const char *name)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_number_value(json_object_get(r->json, name));
}

static const json_t *
first_item(const struct client_reply *r)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_array_get(json_object_get(r->json, "items"), 0);
}

static const char *
text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name)) ?: "";
}

#define RANGE "service=" TEST_SERVICE "&profileType=cpu&from=1728000000000&to="
#define HALF  RANGE "1728000180000"
#define ALL   RANGE "1728003600000"

TEST(a_range_adds_up_what_a_host_sent)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_TEST_STORE struct test_store far = far_store();
	CLEANUP_REPLY struct client_reply all = {0}, half = {0}, other = {0};

	send_tier(&far, &a, BLOCK_MINUTES);
	send_tier(&far, &a, BLOCK_HOURS);
	all = get(&a, API_PROFILES "/merge?" ALL "&host=" FAR);
	ck_assert_double_eq(number(&all, "sampleCount"), 90);
	ck_assert_double_eq(number(&all, "coveredSeconds"), 20);
	half = get(&a, API_PROFILES "/merge?" HALF);
	ck_assert_double_eq(number(&half, "sampleCount"), 60);
	other = get(&a, API_PROFILES "/merge?" ALL "&host=another");
	assert_error(&other, 404, "EmptyRange");
}
END

TEST(minutes_that_come_fresh_are_there_at_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_TEST_STORE struct test_store far = far_store();
	CLEANUP_REPLY struct client_reply fresh = {0}, hour = {0};

	send_tier(&far, &a, BLOCK_FRESH);
	fresh = get(&a, API_PROFILES "/merge?" ALL);
	ck_assert_double_eq(number(&fresh, "sampleCount"), 90);
	send_tier(&far, &a, BLOCK_MINUTES);
	send_tier(&far, &a, BLOCK_HOURS);
	hour = get(&a, API_PROFILES "/merge?" ALL);
	ck_assert_double_eq(number(&hour, "sampleCount"), 90);
}
END

TEST(a_trend_has_a_point_for_each_minute_that_a_host_sent)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_TEST_STORE struct test_store far = far_store();
	CLEANUP_REPLY struct client_reply r = {0};
	double sum = 0;
	size_t i;
	json_t *p;

	send_tier(&far, &a, BLOCK_MINUTES);
	r = get(&a, API_PROFILES "/history/series?function=main&step=1m&" ALL);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	json_array_foreach(json_object_get(r.json, "points"), i, p)
		sum += json_number_value(json_object_get(p, "samples"));
	ck_assert_double_eq(sum, 90);
}
END

TEST(a_window_that_a_host_sent_is_a_profile_that_can_be_pinned)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_TEST_STORE struct test_store far = far_store();
	CLEANUP_REPLY struct client_reply list = {0}, one = {0}, pinned = {0},
					  pprof = {0}, again = {0};
	char path[256], pin[264];
	const char *id;

	send_tier(&far, &a, BLOCK_MINUTES);
	list = get(&a, API_PROFILES "/history?" ALL);
	id = text(first_item(&list), "id");
	ck_assert_int_eq(strncmp(id, WINDOW_PREFIX, 4), 0);
	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	one = get(&a, path);
	ck_assert_double_eq(number(&one, "sampleCount"), 30);
	ck_assert_str_eq(reply_text(&one, "host"), FAR);
	snprintf(pin, sizeof(pin), "%s/pin", path);
	pinned = api_post(&a, pin, NULL);
	ck_assert_msg(pinned.status == 200, "%s", buf_str(&pinned.body));
	again = get(&a, path);
	ck_assert(json_is_true(json_object_get(again.json, "pinned")));
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=folded", id);
	pprof = get(&a, path);
	ck_assert_msg(pprof.status == 200, "%s", buf_str(&pprof.body));
	ck_assert_ptr_nonnull(strstr(buf_str(&pprof.body), "main;g"));
}
END

SUITE("blocks");
