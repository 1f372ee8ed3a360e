/*
 * Two tenants have services of the same name: neither sees or changes anything
 * of the other. Ids are not secret, so a tenant may use ids of the other.
 */
#include "lib/store.h"
#include "store/baseline.h"
#include "store/blob.h"
#include "store/continuous.h"
#include "store/db/db_test.h"
#include "store/delivery.h"
#include "store/idempotency.h"
#include "store/session.h"
#include "store/survey.h"
#include "store/trigger.h"
#include "store/window.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

#define OTHER "other"
#define ALL   ((struct page){50, ""})

/* Makes a store in which tenant "other" has a service of the same name. */
static struct test_store
two_tenants(void)
{
	struct test_store t = test_store();

	test_tenant(&t.s, OTHER);
	return t;
}

static void
session_at(struct store *s, const char *tenant, const char *origin,
           int64_t started_ms, char id[static ID_MAX])
{
	struct session_ask ask = test_ask();
	const struct session_result result = test_result();
	struct blob blob;

	ask.tenant = tenant;
	ask.origin = origin;
	ask.started_ms = ask.completed_ms = started_ms;
	test_blob(s, "bytes", &blob);
	ck_assert_int_eq(session_upload(s, &ask, &result, &blob, id), 0);
}

static void
session_of(struct store *s, const char *tenant, char id[static ID_MAX])
{
	session_at(s, tenant, SESSION_UPLOAD, 0, id);
}

static void
assert_only(const struct session_list *l, const char *id)
{
	ck_assert_uint_eq(l->n, 1);
	ck_assert_str_eq(l->items[0].id, id);
}

TEST(lists_of_sessions_are_the_tenants_own)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SESSIONS struct session_list every = {0}, one = {0},
					     history = {0}, found = {0};
	struct session_filter f = {TEST_TENANT, "", "", "", 0, 0, ""};
	char own[ID_MAX], theirs[ID_MAX];

	session_of(&t.s, TEST_TENANT, own);
	session_of(&t.s, OTHER, theirs);
	ck_assert_int_eq(session_list(&t.s, &f, ALL, &every), 0);
	assert_only(&every, own);
	f.service = TEST_SERVICE;
	ck_assert_int_eq(session_list(&t.s, &f, ALL, &one), 0);
	assert_only(&one, own);
	ck_assert_int_eq(session_history(&t.s, &f, ALL, &history), 0);
	assert_only(&history, own);
	ck_assert_int_eq(
		session_find(&t.s, TEST_TENANT, SESSION_PREFIX, &found), 0);
	assert_only(&found, own);
}
END

TEST(a_session_of_another_tenant_is_not_read_pinned_or_deleted)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SESSION struct session after = {0};
	struct session none;
	char theirs[ID_MAX];

	session_of(&t.s, OTHER, theirs);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, theirs, &none),
	                 -ENOENT);
	ck_assert_int_eq(session_pin(&t.s, TEST_TENANT, theirs, true), -ENOENT);
	ck_assert_int_eq(session_delete(&t.s, TEST_TENANT, theirs), -ENOENT);
	ck_assert_int_eq(session_get(&t.s, OTHER, theirs, &after), 0);
	ck_assert_int_eq(after.pinned, 0);
}
END

TEST(the_session_before_is_of_the_same_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SESSION struct session of = {0};
	struct session none;
	char own[ID_MAX], theirs[ID_MAX];

	session_of(&t.s, OTHER, theirs);
	db_skew_clock(t.s.db, 1000);
	session_of(&t.s, TEST_TENANT, own);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, own, &of), 0);
	ck_assert_int_eq(session_before(&t.s, &of, &none), -ENOENT);
}
END

TEST(a_capture_is_refused_for_one_of_the_same_tenant_only_and_names_that)
{
	static const char *const origins[] = {SESSION_CAPTURE, SESSION_SAMPLY};

	for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
		CLEANUP_TEST_STORE struct test_store t = two_tenants();
		struct session_ask ask = test_ask();
		char own[ID_MAX], theirs[ID_MAX], runs[ID_MAX];

		ask.origin = origins[i];
		ask.tenant = OTHER;
		ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, theirs), 0);
		ask.tenant = TEST_TENANT;
		ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, own), 0);
		ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, runs),
		                 -EEXIST);
		ck_assert_str_eq(runs, own);
		ask.tenant = OTHER;
		ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, runs),
		                 -EEXIST);
		ck_assert_str_eq(runs, theirs);
	}
}
END

TEST(a_capture_of_another_tenant_is_not_cancelled)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct session_ask ask = test_ask();
	char theirs[ID_MAX];

	ask.tenant = OTHER;
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, theirs), 0);
	ck_assert_int_eq(job_cancel(&t.s, TEST_TENANT, theirs), -ENOENT);
	ck_assert_int_eq(job_cancel(&t.s, OTHER, theirs), 0);
}
END

TEST(runs_of_pipelines_are_the_tenants_own)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct session none;
	char theirs[ID_MAX];

	session_at(&t.s, OTHER, SESSION_SAMPLY, 0, theirs);
	ck_assert_int_eq(session_samply_newest(&t.s, TEST_TENANT, TEST_SERVICE,
	                                       SESSION_ALL_ORDINALS, &none),
	                 -ENOENT);
	ck_assert_int_eq(session_samply_good(&t.s, TEST_TENANT, TEST_SERVICE,
	                                     SESSION_ALL_ORDINALS, &none),
	                 -ENOENT);
}
END

/* --- baselines --- */

static void
baseline_of(struct store *s, const char *tenant, char session[static ID_MAX],
            char id[static ID_MAX])
{
	session_of(s, tenant, session);
	ck_assert_int_eq(test_baseline(s, tenant, session, "", id), 0);
}

TEST(a_session_of_another_tenant_makes_no_baseline)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	char theirs[ID_MAX], id[ID_MAX];

	session_of(&t.s, OTHER, theirs);
	ck_assert_int_eq(test_baseline(&t.s, TEST_TENANT, theirs, "", id),
	                 -ENOENT);
}
END

TEST(a_baseline_of_another_tenant_is_not_read_counted_or_removed)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_BASELINE struct baseline b = {0};
	CLEANUP_BASELINES struct baseline_list l = {0};
	const struct baseline_filter f = {TEST_TENANT, "", "", "", ""};
	struct baseline none;
	char session[ID_MAX], own[ID_MAX], held[ID_MAX], theirs[ID_MAX];
	int64_t n;

	baseline_of(&t.s, TEST_TENANT, session, own);
	baseline_of(&t.s, OTHER, held, theirs);
	ck_assert_int_eq(baseline_get(&t.s, TEST_TENANT, theirs, &none),
	                 -ENOENT);
	ck_assert_int_eq(baseline_of_session(&t.s, TEST_TENANT, held, &none),
	                 -ENOENT);
	ck_assert_int_eq(baseline_remove(&t.s, TEST_TENANT, theirs), -ENOENT);
	ck_assert_int_eq(baseline_list(&t.s, &f, ALL, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].id, own);
	ck_assert_int_eq(baseline_get(&t.s, TEST_TENANT, own, &b), 0);
	ck_assert_int_eq(baseline_count_label(&t.s, &b, &n), 0);
	ck_assert_int_eq(n, 1);
}
END

TEST(the_latest_baseline_and_the_one_before_are_of_the_same_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_BASELINE struct baseline b = {0};
	struct baseline none;
	struct baseline_of of = {.tenant = TEST_TENANT,
	                         .service = TEST_SERVICE,
	                         .type = "cpu",
	                         .ordinal = SESSION_ALL_ORDINALS};
	char session[ID_MAX], own[ID_MAX], held[ID_MAX], theirs[ID_MAX];

	baseline_of(&t.s, TEST_TENANT, session, own);
	db_skew_clock(t.s.db, 1000);
	baseline_of(&t.s, OTHER, held, theirs);
	ck_assert_int_eq(baseline_get(&t.s, TEST_TENANT, own, &b), 0);
	ck_assert_int_eq(b.is_latest, 1);
	of.session = session;
	of.created_ms = b.created_ms + 5000;
	ck_assert_int_eq(baseline_before(&t.s, &of, &none), -ENOENT);
}
END

TEST(baselines_of_one_tenant_keep_their_own_order)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_BASELINE struct baseline own = {0}, theirs = {0};
	char session[ID_MAX], id[ID_MAX];

	/* The clock goes back: times need to rise only within a tenant. */
	db_skew_clock(t.s.db, 60000);
	baseline_of(&t.s, OTHER, session, id);
	ck_assert_int_eq(baseline_get(&t.s, OTHER, id, &theirs), 0);
	db_skew_clock(t.s.db, 0);
	baseline_of(&t.s, TEST_TENANT, session, id);
	ck_assert_int_eq(baseline_get(&t.s, TEST_TENANT, id, &own), 0);
	ck_assert_int_lt(own.created_ms, theirs.created_ms);
}
END

/* --- triggers --- */

TEST(a_trigger_of_another_tenant_is_not_read_changed_or_removed)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_TRIGGER struct trigger after = {0};
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	struct trigger v = test_trigger(OTHER, "theirs"), none;
	char theirs[ID_MAX];

	ck_assert_int_eq(trigger_add(&t.s, &v, theirs), 0);
	ck_assert_int_eq(
		trigger_get(&t.s, TEST_TENANT, TEST_SERVICE, theirs, &none),
		-ENOENT);
	v = test_trigger(TEST_TENANT, "mine");
	v.id = theirs;
	ck_assert_int_eq(trigger_replace(&t.s, &v), -ENOENT);
	ck_assert_int_eq(
		trigger_remove(&t.s, TEST_TENANT, TEST_SERVICE, theirs),
		-ENOENT);
	ck_assert_int_eq(trigger_list(&t.s, TEST_TENANT, TEST_SERVICE, &l), 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_int_eq(trigger_get(&t.s, OTHER, TEST_SERVICE, theirs, &after),
	                 0);
	ck_assert_str_eq(after.name, "theirs");
}
END

TEST(triggers_are_counted_for_each_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct trigger v;
	char name[16], id[ID_MAX];

	for (int i = 0; i < TRIGGER_MAX; i++) {
		snprintf(name, sizeof(name), "rule%d", i);
		v = test_trigger(OTHER, name);
		ck_assert_int_eq(trigger_add(&t.s, &v, id), 0);
	}
	v = test_trigger(TEST_TENANT, "rule0");
	ck_assert_int_eq(trigger_add(&t.s, &v, id), 0);
}
END

TEST(a_host_runs_each_trigger_once_and_those_of_its_services)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SERVICE struct service far = {0};
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	struct trigger v = test_trigger(TEST_TENANT, "mine");
	char id[ID_MAX];

	ck_assert_int_eq(trigger_add(&t.s, &v, id), 0);
	v = test_trigger(OTHER, "theirs");
	ck_assert_int_eq(trigger_add(&t.s, &v, id), 0);
	ck_assert_int_eq(service_get(&t.s, OTHER, TEST_SERVICE, &far), 0);
	free(far.host);
	far.host = strdup("host2");
	ck_assert_int_eq(service_replace(&t.s, &far), 0);
	ck_assert_int_eq(trigger_list_host(&t.s, TEST_HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].name, "mine");
}
END

/* Fires a new trigger of a tenant. */
static void
fire_named(struct store *s, const char *tenant, const char *name,
           const char *host)
{
	CLEANUP_TRIGGER struct trigger stored = {0};
	struct trigger v = test_trigger(tenant, name);
	char id[ID_MAX], session[ID_MAX];

	v.webhook = (char *)"http://127.0.0.1/hook";
	ck_assert_int_eq(trigger_add(s, &v, id), 0);
	ck_assert_int_eq(trigger_get(s, tenant, TEST_SERVICE, id, &stored), 0);
	ck_assert_int_eq(trigger_fire(s, &stored, host, 200, NULL, session), 0);
	ck_assert_int_eq(job_cancel(s, tenant, session), 0);
}

static void
fire(struct store *s, const char *host)
{
	fire_named(s, TEST_TENANT, host, host);
}

TEST(triggers_that_fired_are_listed_for_their_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_TRIGGERS struct trigger_list own = {0}, theirs = {0};

	fire_named(&t.s, OTHER, "theirs", TEST_HOST);
	ck_assert_int_eq(trigger_list_fired(&t.s, TEST_TENANT, 60000, &own), 0);
	ck_assert_uint_eq(own.n, 0);
	ck_assert_int_eq(trigger_list_fired(&t.s, OTHER, 60000, &theirs), 0);
	ck_assert_uint_eq(theirs.n, 1);
}
END

TEST(webhooks_of_one_tenant_keep_no_other_waiting)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_FIRINGS struct firing_list l = {0};
	char name[16];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		fire_named(&t.s, TEST_TENANT, name, TEST_HOST);
	}
	db_skew_clock(t.s.db, 10);
	fire_named(&t.s, OTHER, "mine", TEST_HOST);
	ck_assert_int_eq(firing_due(&t.s, TEST_HOST, 2, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_str_eq(l.items[0].tenant, TEST_TENANT);
	ck_assert_str_eq(l.items[1].tenant, OTHER);
}
END

TEST(a_webhook_waits_for_the_worker_of_its_host)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FIRINGS struct firing_list l = {0};
	bool here, there;

	fire(&t.s, "host2");
	ck_assert_int_eq(firing_due(&t.s, TEST_HOST, 8, &l), 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_int_eq(firing_waits(&t.s, TEST_HOST, &here), 0);
	ck_assert_int_eq(firing_waits(&t.s, "host2", &there), 0);
	ck_assert(!here && there);
}
END

/* --- services, and what the worker reports about them --- */

TEST(a_service_of_another_tenant_is_not_listed_changed_or_deleted)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SERVICE struct service own = {0}, theirs = {0}, kept = {0};
	CLEANUP_SERVICES struct service_list l = {0};

	ck_assert_int_eq(service_get(&t.s, TEST_TENANT, TEST_SERVICE, &own), 0);
	ck_assert_str_eq(own.tenant, TEST_TENANT);
	free(own.description);
	own.description = strdup("mine");
	ck_assert_int_eq(service_replace(&t.s, &own), 0);
	ck_assert_int_eq(service_get(&t.s, OTHER, TEST_SERVICE, &theirs), 0);
	ck_assert_str_eq(theirs.tenant, OTHER);
	ck_assert_str_eq(theirs.description, "");
	ck_assert_int_eq(service_list(&t.s, TEST_TENANT, ALL, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(service_get(&t.s, OTHER, TEST_SERVICE, &kept), 0);
}
END

static void
window_of(struct store *s, const char *tenant, char series[static ID_MAX],
          char id[static ID_MAX])
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	CLEANUP_WINDOWS struct window_list l = {0};
	struct window_ask w = {.series = series,
	                       .start_ms = 1000,
	                       .end_ms = 2000,
	                       .duration_ms = 1000,
	                       .windows = 1,
	                       .sample_count = 1,
	                       .value = 1};

	ck_assert_int_eq(series_of(s, tenant, TEST_SERVICE, "cpu", TEST_HOST,
	                           "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "bytes", 5, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, &w, 1, NULL), 0);
	ck_assert_int_eq(
		window_between(s, series, WINDOW_CAPTURED, 0, 5000, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	snprintf(id, ID_MAX, "%s", l.items[0].id);
}

TEST(what_goes_with_a_service_is_its_own_tenants)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct service_contents n;
	struct trigger v = test_trigger(OTHER, "theirs");
	char session[ID_MAX], series[ID_MAX], id[ID_MAX];

	baseline_of(&t.s, OTHER, session, id);
	window_of(&t.s, OTHER, series, id);
	ck_assert_int_eq(trigger_add(&t.s, &v, id), 0);
	ck_assert_int_eq(service_contents(&t.s, TEST_TENANT, TEST_SERVICE, &n),
	                 0);
	ck_assert_int_eq(n.sessions, 0);
	ck_assert_int_eq(n.windows, 0);
	ck_assert_int_eq(n.baselines, 0);
	ck_assert_int_eq(n.triggers, 0);
	ck_assert_int_eq(n.bytes, 0);
	ck_assert_int_eq(service_contents(&t.s, OTHER, TEST_SERVICE, &n), 0);
	ck_assert_int_eq(n.sessions, 1);
	ck_assert_int_eq(n.windows, 1);
	ck_assert_int_eq(n.baselines, 1);
	ck_assert_int_eq(n.triggers, 1);
	ck_assert_int_eq(n.bytes, 10);
}
END

TEST(a_service_that_is_deleted_takes_only_its_own_tenants_things_along)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_BASELINE struct baseline b = {0};
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	struct blob blob;
	char session[ID_MAX], baseline[ID_MAX], series[ID_MAX], window[ID_MAX];

	baseline_of(&t.s, OTHER, session, baseline);
	window_of(&t.s, OTHER, series, window);
	ck_assert_int_eq(service_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_ge(window_reap(&t.s), 0);
	ck_assert_int_eq(baseline_get(&t.s, OTHER, baseline, &b), 0);
	ck_assert_int_eq(blob_of_session(&t.s, session, BLOB_PPROF, &blob), 0);
	ck_assert_int_eq(window_get(&t.s, OTHER, window, &w, &of), 0);
	ck_assert_int_eq(window_read(&t.s, &w, &bytes), 0);
}
END

static size_t
processes(struct store *s, const char *tenant)
{
	CLEANUP_PROCESSES struct process_list l = {0};

	ck_assert_int_eq(process_list(s, tenant, TEST_SERVICE, &l), 0);
	return l.n;
}

static size_t
surveyed(struct store *s, const char *tenant)
{
	CLEANUP_SURVEY struct survey_list l = {0};
	char id[ID_MAX];
	int rc = survey_ask(s, tenant, "exe", "/x", "", id);

	if (rc == -EHOSTDOWN)
		return 0;
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(survey_read(s, id, &l), 0);
	return l.n;
}

TEST(surveys_of_one_tenant_keep_no_other_waiting)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SURVEY struct survey_list l = {0};

	test_heartbeat(&t.s, TEST_HOST, 7);
	for (int i = 0; i < SURVEYS_AT_ONCE; i++)
		ck_assert_uint_eq(surveyed(&t.s, TEST_TENANT), 1);
	db_skew_clock(t.s.db, 10);
	ck_assert_uint_eq(surveyed(&t.s, OTHER), 1);
	ck_assert_int_eq(survey_waiting(&t.s, TEST_HOST, &l), 0);
	ck_assert_uint_eq(l.n, SURVEYS_AT_ONCE);
	ck_assert_str_eq(l.items[0].tenant, TEST_TENANT);
	ck_assert_str_eq(l.items[1].tenant, OTHER);
}
END

TEST(deliveries_of_one_tenant_keep_no_other_waiting)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_DELIVERIES struct delivery_list l = {0};

	ck_assert_int_eq(test_service(&t.s, TEST_TENANT, "svc1"), 0);
	test_sql(&t, "UPDATE service SET collector = 'http://c'", NULL, 0);
	test_sql(&t,
	         "INSERT INTO delivery (source, host, tenant, service, "
	         "queued_ms, last) VALUES ('a', 'host1', 't', 'svc', 1, 0), "
	         "('b', 'host1', 't', 'svc1', 2, 0), "
	         "('c', 'host1', 'other', 'svc', 3, 0)",
	         NULL, 0);
	ck_assert_int_eq(delivery_oldest(&t.s, TEST_HOST, 10, &l), 0);
	ck_assert_uint_eq(l.n, 3);
	ck_assert_str_eq(l.items[0].source, "a");
	ck_assert_str_eq(l.items[1].source, "c");
	ck_assert_str_eq(l.items[2].source, "b");
}
END

TEST(deliveries_are_listed_by_tenant_and_host)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_DELIVERIES struct delivery_list due = {0}, unwanted = {0},
						excess = {0};
	int64_t n = 0;

	test_sql(&t,
	         "UPDATE service SET collector = 'http://c' "
	         "WHERE tenant = '" TEST_TENANT "'",
	         NULL, 0);
	test_sql(&t,
	         "INSERT INTO delivery (source, host, tenant, service, "
	         "queued_ms, last) VALUES "
	         "('far', 'host2', '" TEST_TENANT "', 'svc', 1, 0), "
	         "('theirs', 'host1', '" OTHER "', 'svc', 2, 0), "
	         "('faraway', 'host2', '" OTHER "', 'svc', 3, 0), "
	         "('own', 'host1', '" TEST_TENANT "', 'svc', 4, 0)",
	         NULL, 0);
	ck_assert_int_eq(delivery_oldest(&t.s, TEST_HOST, 10, &due), 0);
	ck_assert_uint_eq(due.n, 1);
	ck_assert_str_eq(due.items[0].source, "own");
	ck_assert_int_eq(delivery_unwanted(&t.s, TEST_HOST, 10, &unwanted), 0);
	ck_assert_uint_eq(unwanted.n, 1);
	ck_assert_str_eq(unwanted.items[0].source, "theirs");
	ck_assert_int_eq(delivery_excess(&t.s, TEST_HOST, TEST_TENANT,
	                                 TEST_SERVICE, 0, 10, &excess),
	                 0);
	ck_assert_uint_eq(excess.n, 1);
	ck_assert_str_eq(excess.items[0].source, "own");
	ck_assert_int_eq(delivery_waiting(&t.s, TEST_HOST, &n), 0);
	ck_assert_int_eq(n, 2);
}
END

TEST(the_collector_of_another_tenant_gets_nothing)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct session_ask ask = test_ask();
	char id[ID_MAX], series[ID_MAX];
	int64_t n = -1;

	test_sql(&t,
	         "UPDATE service SET collector = 'http://c' "
	         "WHERE tenant = '" OTHER "'",
	         NULL, 0);
	window_of(&t.s, TEST_TENANT, series, id);
	ck_assert_int_eq(job_enqueue(&t.s, &ask, TEST_HOST, id), 0);
	ck_assert_int_eq(store_begin(&t.s), 0);
	ck_assert_int_eq(store_end(&t.s, delivery_add_session(&t.s, id)), 0);
	ck_assert_int_eq(delivery_waiting(&t.s, TEST_HOST, &n), 0);
	ck_assert_int_eq(n, 0);
}
END

TEST(a_host_with_a_key_is_its_own_tenants)
{
	static const struct {
		const char *tenant;
		size_t n;
	} rows[] = {{"one", 2}, {"two", 2}, {"on", 1}, {"wo", 1}, {"*", 1}};
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct worker w = {.host = (char *)"far",
	                         .boot_id = (char *)"boot",
	                         .version = (char *)"1",
	                         .capabilities = (char *)"{}",
	                         .pid = 7,
	                         .tenants = "one two"};

	ck_assert_int_eq(worker_heartbeat(&t.s, &w, TEST_LEASE_MS), 0);
	test_heartbeat(&t.s, "near", 7);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_WORKERS struct worker_list l = {0};

		ck_assert_int_eq(worker_list(&t.s, rows[i].tenant, &l), 0);
		ck_assert_msg(l.n == rows[i].n, "%s: %zu", rows[i].tenant, l.n);
		/* hosts of a fleet get no surveys */
		ck_assert_uint_eq(surveyed(&t.s, rows[i].tenant), 1);
	}
	{
		CLEANUP_WORKERS struct worker_list l = {0};

		ck_assert_int_eq(worker_list(&t.s, "", &l), 0);
		ck_assert_uint_eq(l.n, 2);
		ck_assert_int_eq(l.items[0].joined, 1);
		ck_assert_int_eq(l.items[1].joined, 0);
	}
}
END

TEST(processes_are_those_of_a_tenant_on_a_host)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_PROCESSES struct process_list there = {0};
	const struct worker_process own = test_process(TEST_HOST, TEST_TENANT,
	                                               7),
				    theirs = test_process(TEST_HOST, OTHER, 7),
				    far = test_process("host2", TEST_TENANT, 7);

	test_heartbeat(&t.s, TEST_HOST, 7);
	test_heartbeat(&t.s, "host2", 7);
	ck_assert_int_eq(process_put(&t.s, &own), 0);
	ck_assert_int_eq(process_put(&t.s, &theirs), 0);
	ck_assert_int_eq(process_put(&t.s, &far), 0);
	ck_assert_uint_eq(processes(&t.s, TEST_TENANT), 2);
	ck_assert_int_eq(process_list_host(&t.s, "host2", &there), 0);
	ck_assert_uint_eq(there.n, 1);
	ck_assert_int_eq(process_remove(&t.s, &own), 0);
	ck_assert_uint_eq(processes(&t.s, TEST_TENANT), 1);
	ck_assert_uint_eq(processes(&t.s, OTHER), 1);
}
END

TEST(states_of_services_are_the_tenants_own_on_live_hosts)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP(service_state_list_done) struct service_state_list l = {0};
	const struct worker_process own = test_process(TEST_HOST, TEST_TENANT,
	                                               7),
				    theirs = test_process("host2", OTHER, 7),
				    gone = test_process("host3", TEST_TENANT,
	                                                7);
	char id[ID_MAX];

	test_heartbeat(&t.s, TEST_HOST, 7);
	test_heartbeat(&t.s, "host2", 7);
	test_heartbeat(&t.s, "host3", 7);
	ck_assert_int_eq(worker_stop(&t.s, "host3"), 0);
	ck_assert_int_eq(process_put(&t.s, &own), 0);
	ck_assert_int_eq(process_put(&t.s, &theirs), 0);
	ck_assert_int_eq(process_put(&t.s, &gone), 0);
	session_of(&t.s, OTHER, id);
	ck_assert_int_eq(service_states(&t.s, TEST_TENANT, TEST_SERVICE,
	                                TEST_SERVICE, &l),
	                 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].processes, 1);
	ck_assert_int_eq(l.items[0].hosts, 1);
	ck_assert_str_eq(l.items[0].host, TEST_HOST);
	ck_assert_str_eq(l.items[0].session, "");
}
END

TEST(services_with_metrics_are_listed_for_a_tenant_or_for_all)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SERVICES struct service_list own = {0}, all = {0};

	test_sql(&t, "UPDATE service SET metrics = '[{}]'", NULL, 0);
	ck_assert_int_eq(service_list_metrics(&t.s, TEST_TENANT, &own), 0);
	ck_assert_uint_eq(own.n, 1);
	ck_assert_str_eq(own.items[0].tenant, TEST_TENANT);
	ck_assert_int_eq(service_list_metrics(&t.s, "", &all), 0);
	ck_assert_uint_eq(all.n, 2);
}
END

static size_t
trees(struct store *s, const char *tenant)
{
	CLEANUP_TREES struct process_tree_list l = {0};

	ck_assert_int_eq(process_tree_list(s, tenant, TEST_SERVICE, &l), 0);
	return l.n;
}

TEST(numbers_of_descendants_are_those_of_a_tenant_on_a_host)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	struct process_tree v = {.host = (char *)TEST_HOST,
	                         .tenant = (char *)TEST_TENANT,
	                         .service = (char *)TEST_SERVICE,
	                         .followed = 3};

	test_heartbeat(&t.s, TEST_HOST, 7);
	test_heartbeat(&t.s, "host2", 7);
	ck_assert_int_eq(process_tree_put(&t.s, &v), 0);
	v.host = (char *)"host2";
	ck_assert_int_eq(process_tree_put(&t.s, &v), 0);
	v.tenant = (char *)OTHER;
	ck_assert_int_eq(process_tree_put(&t.s, &v), 0);
	ck_assert_uint_eq(trees(&t.s, TEST_TENANT), 2);
	ck_assert_uint_eq(trees(&t.s, OTHER), 1);
	ck_assert_int_eq(process_tree_forget(&t.s, "host2"), 0);
	ck_assert_uint_eq(trees(&t.s, TEST_TENANT), 1);
	ck_assert_uint_eq(trees(&t.s, OTHER), 0);
}
END

TEST(a_worker_that_stops_takes_only_its_own_host_along)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct worker_process own = test_process(TEST_HOST, TEST_TENANT,
	                                               7),
				    far = test_process("host2", TEST_TENANT, 7);
	int64_t asked, wanted, looked;

	test_heartbeat(&t.s, TEST_HOST, 7);
	test_heartbeat(&t.s, "host2", 7);
	ck_assert_int_eq(process_put(&t.s, &own), 0);
	ck_assert_int_eq(process_put(&t.s, &far), 0);
	ck_assert_int_eq(worker_look_ask(&t.s, "host2", &asked), 0);
	ck_assert_int_eq(worker_looked(&t.s, "host2", 77), 0);
	ck_assert_int_eq(worker_look(&t.s, TEST_HOST, &wanted, &looked), 0);
	ck_assert_int_eq(wanted, 0);
	ck_assert_int_eq(looked, 0);
	ck_assert_int_eq(worker_look(&t.s, "host2", &wanted, &looked), 0);
	ck_assert_int_eq(wanted, asked);
	ck_assert_int_eq(looked, 77);
	ck_assert_int_eq(worker_stop(&t.s, "host2"), 0);
	ck_assert_uint_eq(processes(&t.s, TEST_TENANT), 1);
}
END

/* --- continuous profiling --- */

TEST(continuous_profiling_is_set_for_one_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_CONTINUOUS_LIST struct continuous_list l = {0};
	CLEANUP_CONTINUOUS struct continuous got = {0};
	const struct continuous own = test_continuous(TEST_TENANT),
				theirs = test_continuous(OTHER);
	struct continuous none;

	ck_assert_int_eq(continuous_put(&t.s, &theirs), 0);
	ck_assert_int_eq(continuous_get(&t.s, TEST_TENANT, TEST_SERVICE, &none),
	                 -ENOENT);
	ck_assert_int_eq(continuous_put(&t.s, &own), 0);
	ck_assert_int_eq(continuous_list(&t.s, TEST_TENANT, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].tenant, TEST_TENANT);
	ck_assert_int_eq(continuous_delete(&t.s, TEST_TENANT, TEST_SERVICE), 0);
	ck_assert_int_eq(continuous_get(&t.s, OTHER, TEST_SERVICE, &got), 0);
}
END

static void
put_problem(struct store *s, const char *tenant, const char *host,
            const char *code)
{
	const struct continuous_problem p = {
		.tenant = (char *)tenant,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"cpu",
		.host = (char *)host,
		.code = (char *)code,
		.message = (char *)"why",
	};

	ck_assert_int_eq(continuous_problem_put(s, &p), 0);
}

static size_t
problems(struct store *s, const char *tenant)
{
	CLEANUP_CONTINUOUS_PROBLEMS struct continuous_problem_list l = {0};

	ck_assert_int_eq(continuous_problem_list(s, tenant, "", &l), 0);
	return l.n;
}

TEST(a_problem_ends_for_one_tenant_and_all_of_a_host)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();

	put_problem(&t.s, TEST_TENANT, TEST_HOST, "Denied");
	put_problem(&t.s, OTHER, TEST_HOST, "Denied");
	put_problem(&t.s, OTHER, "host2", "Denied");
	ck_assert_uint_eq(problems(&t.s, TEST_TENANT), 1);
	put_problem(&t.s, TEST_TENANT, TEST_HOST, "");
	ck_assert_uint_eq(problems(&t.s, TEST_TENANT), 0);
	ck_assert_uint_eq(problems(&t.s, OTHER), 2);
	ck_assert_int_eq(continuous_problem_forget(&t.s, "host2"), 0);
	ck_assert_uint_eq(problems(&t.s, OTHER), 1);
}
END

TEST(a_series_is_of_one_tenant_and_host)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_SERIES_LIST struct series_list l = {0}, here = {0};
	struct series_filter f = {TEST_TENANT, "", "", ""};
	char own[ID_MAX], theirs[ID_MAX], far[ID_MAX];

	ck_assert_int_eq(series_of(&t.s, OTHER, TEST_SERVICE, "cpu", TEST_HOST,
	                           "{}", theirs),
	                 0);
	ck_assert_int_eq(series_of(&t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", own),
	                 0);
	ck_assert_int_eq(series_of(&t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           "host2", "{}", far),
	                 0);
	ck_assert_str_ne(own, theirs);
	ck_assert_str_ne(own, far);
	ck_assert_int_eq(series_list(&t.s, &f, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	f.host = "host2";
	ck_assert_int_eq(series_list(&t.s, &f, &here), 0);
	ck_assert_uint_eq(here.n, 1);
	ck_assert_str_eq(here.items[0].id, far);
}
END

TEST(pushed_series_are_counted_for_each_tenant_alone)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	char id[ID_MAX];

	ck_assert_int_eq(
		series_of_pushed(&t.s, OTHER, TEST_SERVICE, "cpu", "{}", 1, id),
		0);
	ck_assert_int_eq(series_of(&t.s, TEST_TENANT, TEST_SERVICE, "cpu",
	                           TEST_HOST, "{}", id),
	                 0);
	ck_assert_int_eq(series_of_pushed(&t.s, TEST_TENANT, TEST_SERVICE,
	                                  "cpu", "{}", 1, id),
	                 0);
	ck_assert_int_eq(series_of_pushed(&t.s, TEST_TENANT, TEST_SERVICE,
	                                  "cpu", "{\"v\":\"2\"}", 1, id),
	                 -EDQUOT);
}
END

TEST(a_window_of_another_tenant_is_not_read_found_or_pinned)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_WINDOWS struct window_list found = {0};
	CLEANUP_WINDOW struct window after = {0};
	CLEANUP_SERIES struct series of = {0};
	struct window none;
	struct series none_of;
	char series[ID_MAX], theirs[ID_MAX];

	window_of(&t.s, OTHER, series, theirs);
	ck_assert_int_eq(window_get(&t.s, TEST_TENANT, theirs, &none, &none_of),
	                 -ENOENT);
	ck_assert_int_eq(
		window_find_ids(&t.s, TEST_TENANT, WINDOW_PREFIX, &found), 0);
	ck_assert_uint_eq(found.n, 0);
	ck_assert_int_eq(window_pin(&t.s, TEST_TENANT, theirs, true), -ENOENT);
	ck_assert_int_eq(window_get(&t.s, OTHER, theirs, &after, &of), 0);
	ck_assert_int_eq(after.pinned, 0);
}
END

TEST(windows_are_kept_for_the_days_that_their_own_tenant_says)
{
	CLEANUP_TEST_STORE struct test_store t = two_tenants();
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	struct continuous theirs = test_continuous(OTHER);
	const struct window_keep keep = {.all_ms = INT64_MAX / 4};
	char series[ID_MAX], own[ID_MAX];

	theirs.retention_days = 1;
	ck_assert_int_eq(continuous_put(&t.s, &theirs), 0);
	window_of(&t.s, TEST_TENANT, series, own);
	ck_assert_int_eq(window_expire(&t.s, &keep), 0);
	ck_assert_int_eq(window_get(&t.s, TEST_TENANT, own, &w, &of), 0);
}
END

static void
keep_under(struct store *s, const struct idempotency_key *k, const char *body)
{
	const struct idempotency v = {(char *)"print", 202, (char *)"/x",
	                              (char *)body};

	ck_assert_int_eq(idempotency_claim(s, k, v.fingerprint), 1);
	ck_assert_int_eq(idempotency_keep(s, k, &v), 0);
}

TEST(a_reply_is_kept_for_one_actor_of_a_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct idempotency_key own = {TEST_TENANT, "tok-1", "k"},
				     colleague = {TEST_TENANT, "tok-2", "k"},
				     theirs = {OTHER, "tok-1", "k"};
	CLEANUP_IDEMPOTENCY struct idempotency got = {0};
	struct idempotency none;

	keep_under(&t.s, &own, "own");
	ck_assert_int_eq(idempotency_get(&t.s, &colleague, &none), -ENOENT);
	ck_assert_int_eq(idempotency_get(&t.s, &theirs, &none), -ENOENT);
	keep_under(&t.s, &colleague, "colleague's");
	keep_under(&t.s, &theirs, "theirs");
	ck_assert_int_eq(idempotency_get(&t.s, &own, &got), 0);
	ck_assert_str_eq(got.body, "own");
}
END

SUITE("tenants");
