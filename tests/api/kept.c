/* Kept results of comparisons of large profiles, in a real pool. */
#include "endpoint/call/counters.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/wide.h"
#include "store/session_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two profiles that are expensive to read. */
struct pair {
	char base[ID_MAX], now[ID_MAX];
	char compare[256], diff[256], body[256];
};

static void
upload_wide(struct test_api *a, uint64_t seed, char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = wide_profile(seed, 55000, 16, 2000);

	ck_assert_ptr_nonnull(p);
	test_upload(a, p, "cpu", id);
}

static struct pair
upload_pair(struct test_api *a)
{
	struct pair p;

	upload_wide(a, 1, p.base);
	upload_wide(a, 2, p.now);
	snprintf(p.compare, sizeof(p.compare),
	         API_PROFILES
	         "/compare?baseProfileId=%s&comparisonProfileId=%s",
	         p.base, p.now);
	snprintf(p.diff, sizeof(p.diff),
	         API_PROFILES
	         "/diff?format=json&baseProfileId=%s&comparisonProfileId=%s",
	         p.base, p.now);
	snprintf(p.body, sizeof(p.body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"cpu\"}",
	         p.base, p.now);
	return p;
}

static struct client_reply
diff_stacks(struct test_api *a, const struct pair *p)
{
	return api_say(a, KEY_VIEWER, "POST", "/api/v1/profiling/diff",
	               p->body);
}

/* Returns how many requests were answered with a kept result. */
static int
kept(struct test_api *a)
{
	static const char name[] = "\nstoker_kept_results_total ";
	CLEANUP_REPLY struct client_reply r =
		ask(a, (struct ask){.path = "/metrics", .scraper = true});
	const char *at = strstr(buf_str(&r.body), name);

	ck_assert_ptr_nonnull(at);
	return atoi(at + strlen(name));
}

/* Fails unless both replies are equal, except for links, which are always
 * new. */
static void
assert_same(const struct client_reply *x, const struct client_reply *y)
{
	ck_assert_msg(x->status == 200, "%s", buf_str(&x->body));
	ck_assert_int_eq(y->status, 200);
	ck_assert_ptr_nonnull(x->json);
	ck_assert_ptr_nonnull(y->json);
	json_object_del(x->json, "links");
	json_object_del(y->json, "links");
	ck_assert(json_equal(x->json, y->json));
}

static void
assert_compared_twice_alike(struct test_api *a, const char *path, int hits)
{
	CLEANUP_REPLY struct client_reply one = api_get(a, path);
	CLEANUP_REPLY struct client_reply two = api_get(a, path);

	ck_assert_str_eq(client_header(&one, "Content-Type"),
	                 client_header(&two, "Content-Type"));
	assert_same(&one, &two);
	ck_assert_int_eq(kept(a), hits);
}

TEST(what_is_asked_for_again_is_not_computed_again)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct pair p = upload_pair(&a);
	CLEANUP_REPLY struct client_reply one = {0}, two = {0};

	assert_compared_twice_alike(&a, p.compare, 1);
	assert_compared_twice_alike(&a, p.diff, 2);
	one = diff_stacks(&a, &p);
	two = diff_stacks(&a, &p);
	assert_same(&one, &two);
	ck_assert_int_eq(kept(&a), 3);
}
END

/* Asks Grafana's querier for all CPU time of svc, of stacks below a call site.
 */
static struct client_reply
ask_flame(struct test_api *a, const char *site)
{
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&body,
	         "{\"profileTypeID\":\"process_cpu:cpu:nanoseconds:cpu:"
	         "nanoseconds\",\"labelSelector\":\"{service_name=\\\"svc"
	         "\\\"}\",\"start\":0,\"end\":4102444800000%s}",
	         site);
	return api_say(a, KEY_VIEWER, "POST",
	               "/querier.v1.QuerierService/"
	               "SelectMergeStacktraces",
	               buf_str(&body));
}

/* Returns the total of a flame graph, or of a function right below its root. */
static int64_t
total_of(const struct client_reply *r)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return strtoll(
		json_string_value(json_object_get(
			json_object_get(r->json, "flamegraph"), "total")),
		NULL, 10);
}

TEST(the_sum_of_a_range_is_made_once_for_all_call_sites_of_grafana)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	CLEANUP_REPLY struct client_reply all = {0}, site = {0}, more = {0};
	CLEANUP_REPLY struct client_reply lost = {0};
	CLEANUP_BUF struct buf by = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX], sql[256];
	const char *root;

	upload_wide(&a, 1, id);
	all = ask_flame(&a, "");
	ck_assert_int_eq(kept(&a), 0);
	root = json_string_value(json_array_get(
		json_object_get(json_object_get(all.json, "flamegraph"),
	                        "names"),
		1));
	buf_addf(&by,
	         ",\"stackTraceSelector\":{\"callSite\":[{\"name\":\"%s\"}]}",
	         root);
	site = ask_flame(&a, buf_str(&by));
	ck_assert_int_eq(kept(&a), 1);
	ck_assert_int_gt(total_of(&site), 0);
	ck_assert_int_le(total_of(&site), total_of(&all));
	/* one more profile makes another sum */
	upload_wide(&a, 2, id);
	snprintf(sql, sizeof(sql),
	         "UPDATE blob SET checksum = 'x' || checksum WHERE session = "
	         "'%s'",
	         id);
	test_sql(&a.store, sql, NULL, 0);
	lost = ask_flame(&a, "");
	ck_assert_int_eq(total_of(&lost), total_of(&all));
	/* bytes that can be read again are part of the sum */
	test_sql(&a.store,
	         "UPDATE blob SET checksum = replace(checksum, 'x', '')", NULL,
	         0);
	more = ask_flame(&a, "");
	ck_assert_int_eq(kept(&a), 1);
	ck_assert_int_gt(total_of(&more), total_of(&all));
}
END

TEST(a_picture_that_was_made_is_not_made_again)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	char id[ID_MAX], path[256];

	upload_wide(&a, 1, id);
	for (int i = 0; i < 2; i++) {
		CLEANUP_REPLY struct client_reply one = {0}, two = {0};

		snprintf(path, sizeof(path),
		         API_PROFILES "/%s/flamegraph?format=%s", id,
		         i ? "svg" : "html");
		one = api_get(&a, path);
		two = api_get(&a, path);
		ck_assert_int_eq(one.status, 200);
		ck_assert_int_eq(kept(&a), i + 1);
		ck_assert_str_eq(buf_str(&one.head), buf_str(&two.head));
		ck_assert_str_eq(buf_str(&one.body), buf_str(&two.body));
	}
}
END

TEST(a_kept_result_needs_no_place)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct pair p = upload_pair(&a);
	CLEANUP_REPLY struct client_reply one = api_get(&a, p.compare);
	CLEANUP_REPLY struct client_reply two = {0}, other = {0};
	static const char *const tenants[] = {"other", "third"};
	struct counters *held[2];
	uint32_t changes;

	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		ck_assert_int_eq(counters_open(a.store.dir, a.n, 2, &held[i]),
		                 0);
		ck_assert(counters_heavy_begin(held[i], tenants[i], &changes));
	}
	two = api_get(&a, p.compare);
	assert_same(&one, &two);
	other = api_get(&a, p.diff);
	assert_error(&other, 429, "TooManyHeavyRequests");
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		counters_close(held[i]);
}
END

TEST(another_question_gets_an_answer_of_its_own)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct pair p = upload_pair(&a);
	char paths[6][512];

	snprintf(paths[0], 512, "%s", p.compare);
	snprintf(paths[1], 512, "%s&normalize=rate", p.compare);
	snprintf(paths[2], 512, "%s&normalize=work&baseWork=1&comparisonWork=2",
	         p.compare);
	snprintf(paths[3], 512,
	         API_PROFILES
	         "/compare?baseProfileId=%s&comparisonProfileId=%s",
	         p.now, p.base);
	snprintf(paths[4], 512, "%s", p.diff);
	snprintf(paths[5], 512, "%s&shape=before", p.diff);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP_REPLY struct client_reply r = api_get(&a, paths[i]);

		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		ck_assert_int_eq(kept(&a), 0);
	}
}
END

TEST(a_profile_that_has_changed_is_compared_anew)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct pair p = upload_pair(&a);
	CLEANUP_REPLY struct client_reply one = api_get(&a, p.compare);
	CLEANUP_REPLY struct client_reply two = {0};
	struct store *s = &a.store.s;
	char third[ID_MAX];
	struct blob b;

	upload_wide(&a, 3, third);
	ck_assert_int_eq(blob_of_session(s, third, BLOB_PPROF, &b), 0);
	id_new("blob-", b.id);
	ck_assert_int_eq(session_store_blob(s, p.now, &b), 0);
	two = api_get(&a, p.compare);
	ck_assert_int_eq(two.status, 200);
	ck_assert_int_eq(kept(&a), 0);
	ck_assert_int_eq(one.status, 200);
}
END

TEST(a_result_is_nothing_to_another_tenant)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct pair p = upload_pair(&a);
	CLEANUP_REPLY struct client_reply own = api_get(&a, p.compare);
	CLEANUP_REPLY struct client_reply theirs =
		ask(&a, (struct ask){.key = KEY_OTHER, .path = p.compare});
	CLEANUP_REPLY struct client_reply gone = {0}, after = {0};
	char path[256];

	ck_assert_int_eq(own.status, 200);
	assert_error(&theirs, 404, "UnknownProfile");
	snprintf(path, sizeof(path), API_PROFILES "/%s", p.base);
	gone = api_delete(&a, path);
	ck_assert_int_eq(gone.status, 204);
	after = api_get(&a, p.compare);
	assert_error(&after, 404, "UnknownProfile");
	ck_assert_int_eq(kept(&a), 0);
}
END

TEST(nothing_is_kept_where_no_room_is_given)
{
	CLEANUP_API struct test_api a = test_api(1, "kept_bytes = 0\n");
	const struct pair p = upload_pair(&a);

	assert_compared_twice_alike(&a, p.compare, 0);
}
END

SUITE("kept", .seconds = 120);
