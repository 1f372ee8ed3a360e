/* The fate of a webhook after its receiver has answered. */
#include "worker/triggers/webhooks.h"

#include "base/clock.h"
#include "base/file.h"
#include "lib/store.h"
#include "worker/ipc/fetch.h"

#include <string.h>
#include <unistd.h>

#define FETCH 7 /* the number of the question */

/* A trigger that fired: its capture has ended, and its webhook was posted as
 * FETCH. */
static void
post_of(struct store *s, struct webhooks *w, const char *tenant)
{
	CLEANUP_TRIGGER struct trigger t = {0};
	CLEANUP_FIRINGS struct firing_list l = {0};
	CLEANUP_JOB struct job j = {0};
	const struct job_end end = {"failed", "x", "y", NULL, NULL, NULL, NULL};
	struct trigger rule = test_trigger(tenant, "fat");
	struct job_ref ref;
	char id[ID_MAX];

	rule.webhook = (char *)"http://host/";
	ck_assert_int_eq(trigger_add(s, &rule, id), 0);
	ck_assert_int_eq(trigger_get(s, tenant, TEST_SERVICE, id, &t), 0);
	ck_assert_int_eq(trigger_fire(s, &t, TEST_HOST, 123.5, NULL, id), 0);
	test_claim(s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_finish(s, &ref, &end), 0);
	ck_assert_int_eq(firing_due(s, TEST_HOST, 8, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	w->items[1].fetch = FETCH;
	snprintf(w->items[1].firing, sizeof(w->items[1].firing), "%s",
	         l.items[0].id);
}

static void
post(struct store *s, struct webhooks *w)
{
	post_of(s, w, TEST_TENANT);
}

static const struct {
	uint64_t id;
	uint32_t error, status;
	bool taken, waits; /* waits: for the next attempt */
} answers[] = {
	{FETCH, 0, 199, true, true},          {FETCH, 0, 200, true, false},
	{FETCH, 0, 204, true, false},         {FETCH, 0, 299, true, false},
	{FETCH, 0, 300, true, true},          {FETCH, 0, 302, true, true},
	{FETCH, 0, 404, true, true},          {FETCH, 0, 503, true, true},
	{FETCH, FETCH_DIED, 200, true, true}, {FETCH + 1, 0, 200, false, true},
};

TEST(a_webhook_was_sent_when_the_answer_is_2xx_and_else_is_tried_again)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP(conf_done) struct conf conf = {0};
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct runs runs = {.store = &t.s, .conf = &conf};
		struct webhooks w = {.runs = &runs, .host = TEST_HOST};
		const struct fetch_answer a = {.id = answers[i].id,
		                               .error = answers[i].error,
		                               .status = answers[i].status};
		bool waits = !answers[i].waits;

		ck_assert_int_eq(conf_parse("test", "", &conf, &why), 0);
		post(&t.s, &w);
		ck_assert_int_eq(webhooks_fetched(&w, &a), answers[i].taken);
		ck_assert_int_eq(firing_waits(&t.s, TEST_HOST, &waits), 0);
		ck_assert_msg(waits == answers[i].waits, "row %zu", i);
	}
}
END

/* The last attempt ends the webhook, whatever the answer. */
TEST(a_webhook_is_given_up_after_as_many_tries_as_configured)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct runs runs = {.store = &t.s, .conf = &conf};
	struct webhooks w = {.runs = &runs, .host = TEST_HOST};
	const struct fetch_answer a = {.id = FETCH, .status = 503};
	bool waits = false;

	ck_assert_int_eq(conf_parse("test", "", &conf, &why), 0);
	post(&t.s, &w);
	w.items[1].tries = conf.webhook_tries - 2;
	ck_assert(webhooks_fetched(&w, &a));
	ck_assert_int_eq(firing_waits(&t.s, TEST_HOST, &waits), 0);
	ck_assert(waits);
	w.items[1].fetch = FETCH;
	w.items[1].tries = conf.webhook_tries - 1;
	ck_assert(webhooks_fetched(&w, &a));
	ck_assert_int_eq(firing_waits(&t.s, TEST_HOST, &waits), 0);
	ck_assert(!waits);
}
END

static int
fetcher_is_there(void *arg)
{
	(void)arg;
	return 0;
}

/* The test plays the fetcher. A row that the API has corrupted is posted to
 * nobody. */
TEST(a_webhook_is_posted_for_its_tenant_with_what_has_fired)
{
	char longest[FETCH_TENANT], longer[FETCH_TENANT + 1];
	const struct {
		const char *tenant;
		bool posted;
	} rows[] = {{TEST_TENANT, true}, {longest, true}, {longer, false}};

	memset(longest, 'l', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	memset(longer, 'l', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		CLEANUP(conf_done) struct conf conf = {0};
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		struct runs runs = {.store = &t.s, .conf = &conf};
		struct webhooks w = {.runs = &runs,
		                     .host = TEST_HOST,
		                     .want_fetcher = fetcher_is_there,
		                     .waits = true};
		struct fetch_ask ask;
		int pair[2], fd = -1;
		size_t nfds = 1;

		ck_assert_int_eq(conf_parse("test", "", &conf, &why), 0);
		ck_assert_int_eq(link_key_make(&t.s), 0);
		ck_assert_int_eq(msg_pair(pair), 0);
		runs.fetcher = pair[1];
		if (i)
			test_tenant(&t.s, rows[i].tenant);
		post_of(&t.s, &w, rows[i].tenant);
		w.items[1].fetch = 0;
		webhooks_step(&w, clock_mono_ns());
		close(pair[1]); /* so that no more messages come */
		ck_assert_int_eq(msg_recv(pair[0], &ask, sizeof(ask), &fd,
		                          &nfds) == sizeof(ask),
		                 rows[i].posted);
		close(pair[0]);
		if (!rows[i].posted)
			continue;
		ck_assert_str_eq(ask.url, "http://host/");
		ck_assert_str_eq(ask.tenant, rows[i].tenant);
		ck_assert_uint_eq(ask.method, FETCH_POST);
		ck_assert_uint_eq(ask.purpose, FETCH_WEBHOOK);
		ck_assert_uint_eq(ask.total_ms, 10000);
		ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
		ck_assert_int_eq(fd_read_all(fd, &body), 0);
		close(fd);
		ck_assert_ptr_nonnull(
			strstr(body.p,
		               "\"trigger\":\"fat\",\"service\":\"" TEST_SERVICE
		               "\",\"kind\":\"rss\",\"function\":\"\","
		               "\"value\":123.5,\"threshold\":100,"));
		ck_assert_ptr_nonnull(strstr(body.p, "\"status\":\"failed\""));
	}
}
END

SUITE("webhooks");
