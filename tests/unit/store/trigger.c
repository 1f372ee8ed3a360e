/* Triggers in the store: when one fires, and what happens to its webhook. */
#include "store/trigger.h"

#include "lib/store.h"
#include "store/audit.h"
#include "store/db/db_test.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

static void
put(struct store *s, const char *webhook, int64_t cooldown_ms,
    struct trigger *out)
{
	char id[ID_MAX];
	struct trigger t = test_trigger(TEST_TENANT, "fat");

	t.webhook = (char *)webhook;
	t.cooldown_ms = cooldown_ms;
	ck_assert_int_eq(trigger_add(s, &t, id), 0);
	ck_assert_int_eq(trigger_get(s, TEST_TENANT, TEST_SERVICE, id, out), 0);
}

static int
fire(struct store *s, const struct trigger *t, char out[static ID_MAX])
{
	return trigger_fire(s, t, TEST_HOST, 123.5, NULL, out);
}

/* Runs the trigger's capture, which fails. */
static void
capture(struct store *s)
{
	CLEANUP_JOB struct job j = {0};
	const struct job_end end = {"failed", "x", "y", NULL, NULL, NULL, NULL};
	struct job_ref ref;

	test_claim(s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(job_finish(s, &ref, &end), 0);
}

static size_t
due(struct store *s, const char *host)
{
	CLEANUP_FIRINGS struct firing_list l = {0};

	ck_assert_int_eq(firing_due(s, host, 8, &l), 0);
	return l.n;
}

TEST(firing_enqueues_a_capture_that_names_it)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0}, after = {0};
	CLEANUP_SESSION struct session s = {0};
	char id[ID_MAX];

	put(&ts.s, "", 1000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	ck_assert_int_eq(session_get(&ts.s, TEST_TENANT, id, &s), 0);
	ck_assert_str_eq(s.labels, "{\"trigger\":\"fat\"}");
	ck_assert_str_eq(s.created_by, t.id);
	ck_assert_str_eq(s.origin, SESSION_CAPTURE);
	ck_assert_int_eq(
		trigger_get(&ts.s, TEST_TENANT, TEST_SERVICE, t.id, &after), 0);
	ck_assert_str_eq(after.session, id);
	ck_assert(after.value > 123 && after.value < 124);
	ck_assert_str_eq(after.sent, "none");
}
END

TEST(firing_leaves_a_line_of_who_had_what_profiled)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	CLEANUP_AUDITS struct audit_list l = {0};
	char id[ID_MAX];

	put(&ts.s, "", 60000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	ck_assert_int_eq(fire(&ts.s, &t, id), -EAGAIN);
	ck_assert_int_eq(
		audit_list(&ts.s, TEST_TENANT, "", (struct page){10, ""}, &l),
		0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].actor, t.id);
	ck_assert_str_eq(l.items[0].action, "FireTrigger");
	ck_assert_str_eq(l.items[0].target, id);
	ck_assert_ptr_nonnull(strstr(l.items[0].detail, "\"trigger\":\"fat\""));
}
END

/* Fires because of a shift at a time, and returns the firing. */
static void
fire_shift(struct store *s, const struct trigger *t, int64_t at_ms,
           struct firing_list *out)
{
	const struct trigger_shift shift = {at_ms, at_ms - 1, at_ms + 1};
	char id[ID_MAX];

	ck_assert_int_eq(trigger_fire(s, t, TEST_HOST, 2, &shift, id), 0);
	capture(s);
	ck_assert_int_eq(firing_due(s, TEST_HOST, 8, out), 0);
	ck_assert_uint_eq(out->n, 1);
	ck_assert_int_eq(firing_tried(s, out->items[0].id, "sent", 0), 0);
}

TEST(a_firing_of_a_shift_has_its_time_and_the_restart_next_to_it)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	CLEANUP_FIRINGS struct firing_list at = {0}, near = {0}, far = {0};
	CLEANUP_PROCESSES struct process_list p = {0};
	const struct worker_process began =
		test_process(TEST_HOST, TEST_TENANT, 7);
	int64_t began_ms;

	test_heartbeat(&ts.s, TEST_HOST, 1);
	db_skew_clock(ts.s.db, 20000);
	ck_assert_int_eq(process_put(&ts.s, &began), 0);
	ck_assert_int_eq(process_list_host(&ts.s, TEST_HOST, &p), 0);
	ck_assert_uint_eq(p.n, 1);
	began_ms = p.items[0].seen_ms;
	put(&ts.s, "http://host/", 0, &t);
	fire_shift(&ts.s, &t, began_ms, &at);
	ck_assert_int_eq(at.items[0].since_ms, began_ms);
	ck_assert_int_eq(at.items[0].earliest_ms, began_ms - 1);
	ck_assert_int_eq(at.items[0].latest_ms, began_ms + 1);
	ck_assert_int_eq(at.items[0].restart_ms, began_ms);
	fire_shift(&ts.s, &t, began_ms + 120001, &near);
	ck_assert_int_eq(near.items[0].restart_ms, began_ms);
	fire_shift(&ts.s, &t, began_ms + 120002, &far);
	ck_assert_int_eq(far.items[0].restart_ms, 0);
}
END

/* A worker that starts finds processes that are running already. */
TEST(no_restart_is_one_of_another_tenant_or_that_a_new_worker_found)
{
	static const struct {
		const char *tenant, *host;
	} rows[] = {{"other", TEST_HOST}, {TEST_TENANT, "new"}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_TEST_STORE struct test_store ts = test_store();
		CLEANUP_TRIGGER struct trigger t = {0};
		CLEANUP_FIRINGS struct firing_list fired = {0};
		CLEANUP_PROCESSES struct process_list p = {0};
		const struct worker_process found =
			test_process(rows[i].host, rows[i].tenant, 7);

		test_tenant(&ts.s, "other");
		test_heartbeat(&ts.s, TEST_HOST, 1);
		db_skew_clock(ts.s.db, 20000);
		test_heartbeat(&ts.s, "new", 1);
		ck_assert_int_eq(process_put(&ts.s, &found), 0);
		ck_assert_int_eq(process_list_host(&ts.s, rows[i].host, &p), 0);
		put(&ts.s, "http://host/", 0, &t);
		fire_shift(&ts.s, &t, p.items[0].seen_ms, &fired);
		ck_assert_int_eq(fired.items[0].restart_ms, 0);
	}
}
END

TEST(within_its_cooldown_it_does_not_fire)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	char id[ID_MAX];

	put(&ts.s, "", 60000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	capture(&ts.s);
	db_skew_clock(ts.s.db, 59000);
	ck_assert_int_eq(fire(&ts.s, &t, id), -EAGAIN);
	db_skew_clock(ts.s.db, 62000);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
}
END

TEST(one_that_was_disabled_or_removed_does_not_fire)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	char id[ID_MAX];

	put(&ts.s, "", 1, &t);
	t.enabled = 0;
	ck_assert_int_eq(trigger_replace(&ts.s, &t), 0);
	ck_assert_int_eq(fire(&ts.s, &t, id), -EAGAIN);
	ck_assert_int_eq(trigger_remove(&ts.s, TEST_TENANT, TEST_SERVICE, t.id),
	                 0);
	ck_assert_int_eq(fire(&ts.s, &t, id), -EAGAIN);
}
END

TEST(a_capture_that_runs_already_is_joined)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	struct session_ask ask = test_ask();
	char runs[ID_MAX], id[ID_MAX];

	ask.type = "cpu";
	ck_assert_int_eq(job_enqueue(&ts.s, &ask, TEST_HOST, runs), 0);
	put(&ts.s, "", 1000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	ck_assert_str_eq(id, runs);
}
END

TEST(a_store_that_fails_has_not_fired)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	char id[ID_MAX];
	int rc = -EIO;

	put(&ts.s, "", 60000, &t);
	for (int n = 1; rc && n < 50; n++) {
		db_fail_after(ts.s.db, n);
		rc = fire(&ts.s, &t, id);
		db_fail_after(ts.s.db, 0);
		ck_assert_msg(!rc || rc == -EIO, "%d: %d", n, rc);
	}
	ck_assert_int_eq(rc, 0); /* failed attempts did not count */
}
END

TEST(a_webhook_waits_for_the_end_of_its_capture)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	char id[ID_MAX];
	bool waits = false;

	put(&ts.s, "http://host/", 1000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	ck_assert_uint_eq(due(&ts.s, TEST_HOST), 0);
	ck_assert_int_eq(firing_waits(&ts.s, TEST_HOST, &waits), 0);
	ck_assert(waits);
	capture(&ts.s);
	ck_assert_uint_eq(due(&ts.s, "another"), 0);
	ck_assert_uint_eq(due(&ts.s, TEST_HOST), 1);
}
END

/* Lists all triggers in pages; sets *last and returns their number. */
static int
list_all(struct store *s, int limit, struct trigger *last)
{
	CLEANUP_FREE char *cursor = strdup("");
	int n = 0;

	while (cursor) {
		CLEANUP_TRIGGERS struct trigger_list l = {0};

		ck_assert_int_eq(trigger_page(s, TEST_TENANT,
		                              (struct page){limit, cursor}, &l),
		                 0);
		for (size_t i = 0; i < l.n; i++, n++) {
			trigger_done(last);
			*last = TAKE(l.items[i]);
		}
		free(cursor);
		cursor = l.next;
		l.next = NULL;
	}
	return n;
}

#define LAST "zzz" /* a service listed after TEST_SERVICE */

TEST(pages_have_each_trigger_of_a_tenant_once)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	CLEANUP_TRIGGER struct trigger last = {0};
	char id[ID_MAX];

	ck_assert_int_eq(test_service(&ts.s, TEST_TENANT, LAST), 0);
	for (char name[] = "a"; *name < 'f'; ++*name) {
		struct trigger t = test_trigger(TEST_TENANT, name);

		t.service = *name < 'c' ? (char *)LAST : t.service;
		ck_assert_int_eq(trigger_add(&ts.s, &t, id), 0);
	}
	for (int limit = 1; limit < 7; limit++) {
		ck_assert_int_eq(list_all(&ts.s, limit, &last), 5);
		ck_assert_str_eq(last.service, LAST);
		ck_assert_str_eq(last.name, "b");
	}
	ck_assert_int_eq(trigger_page(&ts.s, "other", (struct page){9, ""}, &l),
	                 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_int_eq(
		trigger_page(&ts.s, TEST_TENANT, (struct page){9, "x"}, &l),
		-EINVAL);
}
END

TEST(a_webhook_is_due_until_it_was_sent)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	CLEANUP_FIRINGS struct firing_list l = {0};
	char id[ID_MAX];
	bool waits = true;

	put(&ts.s, "http://host/", 1000, &t);
	ck_assert_int_eq(fire(&ts.s, &t, id), 0);
	capture(&ts.s);
	ck_assert_int_eq(firing_due(&ts.s, TEST_HOST, 8, &l), 0);
	ck_assert_str_eq(l.items[0].status, "failed");
	ck_assert_int_eq(firing_tried(&ts.s, l.items[0].id, "waiting", 60000),
	                 0);
	ck_assert_uint_eq(due(&ts.s, TEST_HOST), 0);
	trigger_done(&t);
	ck_assert_int_eq(list_all(&ts.s, 1, &t), 1);
	ck_assert_str_eq(t.sent, "retrying");
	db_skew_clock(ts.s.db, 61000);
	ck_assert_uint_eq(due(&ts.s, TEST_HOST), 1);
	ck_assert_int_eq(firing_tried(&ts.s, l.items[0].id, "sent", 0), 0);
	ck_assert_int_eq(firing_waits(&ts.s, TEST_HOST, &waits), 0);
	ck_assert(!waits);
}
END

TEST(old_firings_go_and_the_last_stays)
{
	CLEANUP_TEST_STORE struct test_store ts = test_store();
	CLEANUP_TRIGGER struct trigger t = {0};
	char id[ID_MAX];

	put(&ts.s, "", 1, &t);
	for (int i = 0; i < 3; i++) {
		db_skew_clock(ts.s.db, i * 10000);
		ck_assert_int_eq(fire(&ts.s, &t, id), 0);
		capture(&ts.s);
	}
	db_skew_clock(ts.s.db, 100000);
	ck_assert_int_eq(firing_prune(&ts.s, 50000), 2);
}
END

SUITE("trigger");
