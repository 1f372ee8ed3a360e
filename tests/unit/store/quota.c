/* Quotas: what a tenant holds, what it may hold, and what is refused. */
#include "store/quota.h"

#include "lib/store.h"
#include "store/baseline.h"
#include "store/block.h"
#include "store/db/db_test.h"
#include "store/debug_file.h"
#include "store/idempotency.h"
#include "store/token.h"
#include "store/trigger.h"
#include "store/window.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER     "other"
#define LIMIT     3 /* of each quota; a tenant has one service from the start */
#define IDS       64
#define HOUR_MS   INT64_C(3600000)
#define MINUTE_MS INT64_C(60000)

/* Ids of what was added, by its number. */
static char ids[IDS][ID_MAX];

static const char *
numbered(const char *prefix, int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%d", prefix, i);
	return name;
}

static int
upload(struct store *s, const char *tenant, const char *bytes, int i)
{
	struct session_ask ask = test_ask();
	const struct session_result result = test_result();
	struct blob blob;

	ask.tenant = tenant;
	ask.origin = SESSION_UPLOAD;
	test_blob(s, bytes, &blob);
	return session_upload(s, &ask, &result, &blob, ids[i]);
}

static int
services_add(struct store *s, const char *tenant, int i)
{
	return test_service(s, tenant, numbered("more", i));
}

static int
services_free(struct store *s, const char *tenant, int i)
{
	return service_delete(s, tenant, numbered("more", i));
}

/* Adds each series to a new service, which holds no other. */
static int
series_add(struct store *s, const char *tenant, int i)
{
	const char *service = numbered("pushed", i);
	int rc = test_service(s, tenant, service);

	ck_assert(!rc || rc == -EEXIST);
	return series_of_pushed(s, tenant, service, "cpu", "{}", 100, ids[i]);
}

static int
series_free(struct store *s, const char *tenant, int i)
{
	return service_delete(s, tenant, numbered("pushed", i));
}

/* Accepts a block of one byte from a host, for a minute of a service. */
static int
send_block(struct store *s, const char *tenant, const char *service, int i)
{
	struct block_series series = {service, "cpu", "{}", 0, 1};
	struct block_window w = {.start_ms = i * MINUTE_MS,
	                         .end_ms = (i + 1) * MINUTE_MS,
	                         .windows = 1,
	                         .length = 1};
	const struct block b = {
		.tenant = tenant,
		.tier = BLOCK_FRESH,
		.start_ms = w.start_ms,
		.end_ms = w.end_ms,
		.series = &series,
		.windows = &w,
		.nseries = service ? 1 : 0,
		.nwindows = service ? 1 : 0,
	};
	int64_t cursor_ms;

	return block_accept(s, numbered("far", i), &b, "x", 1, &cursor_ms);
}

static int
host_series_add(struct store *s, const char *tenant, int i)
{
	char service[32];
	int rc;

	snprintf(service, sizeof(service), "%s", numbered("sent", i));
	rc = test_service(s, tenant, service);
	ck_assert(!rc || rc == -EEXIST);
	return send_block(s, tenant, service, i);
}

static int
host_series_free(struct store *s, const char *tenant, int i)
{
	return service_delete(s, tenant, numbered("sent", i));
}

static int
host_bytes_add(struct store *s, const char *tenant, int i)
{
	return send_block(s, tenant, NULL, i);
}

static int
host_bytes_free(struct store *s, const char *tenant, int i)
{
	(void)tenant, (void)i;
	ck_assert_int_gt(block_expire(s, &(struct window_keep){.all_ms = 1}),
	                 0);
	return 0;
}

static int
tokens_add(struct store *s, const char *tenant, int i)
{
	char key[TOKEN_KEY_MAX], tenants[64];
	const struct token_ask ask = {
		.name = "key",
		.role = "viewer",
		.tenants = tenants,
		.default_tenant = tenant,
	};

	snprintf(tenants, sizeof(tenants), "%s third", tenant);
	return token_create(s, &ask, ids[i], key);
}

static int
tokens_free(struct store *s, const char *tenant, int i)
{
	(void)tenant;
	return token_revoke(s, ids[i]);
}

static int
triggers_add(struct store *s, const char *tenant, int i)
{
	const struct trigger t = test_trigger(tenant, numbered("rule", i));

	return trigger_add(s, &t, ids[i]);
}

static int
triggers_free(struct store *s, const char *tenant, int i)
{
	return trigger_remove(s, tenant, TEST_SERVICE, ids[i]);
}

static int
profiles_add(struct store *s, const char *tenant, int i)
{
	return upload(s, tenant, "bytes", i);
}

static int
profiles_free(struct store *s, const char *tenant, int i)
{
	return session_delete(s, tenant, ids[i]);
}

static int
bytes_add(struct store *s, const char *tenant, int i)
{
	return upload(s, tenant, "1", i);
}

/* A debug file of one byte. */
static int
debug_files_add(struct store *s, const char *tenant, int i)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	const struct debug_file f = {
		.tenant = (char *)tenant,
		.name = (char *)"server",
		.build_id = (char *)numbered("aa", i),
		.go_id = (char *)"",
		.htlhash = (char *)"",
		.created_by = (char *)"tok-1",
	};
	struct blob b;
	int rc = blob_put(s, BLOB_DEBUG, "x", 1, &w, &b) ?: store_begin(s);

	ck_assert_int_eq(rc, 0);
	return store_end(s, debug_file_add(s, &f, &b, ids[i]));
}

static int
debug_files_free(struct store *s, const char *tenant, int i)
{
	return debug_file_delete(s, tenant, ids[i]);
}

static int
pins_add(struct store *s, const char *tenant, int i)
{
	int rc = upload(s, tenant, "bytes", i);

	ck_assert_int_eq(rc, 0);
	return session_pin(s, tenant, ids[i], true);
}

static int
pins_free(struct store *s, const char *tenant, int i)
{
	return session_pin(s, tenant, ids[i], false);
}

static int
captures_per_hour_add(struct store *s, const char *tenant, int i)
{
	struct session_ask ask = test_ask();

	ask.tenant = tenant;
	ask.type = numbered("type", i);
	return job_enqueue(s, &ask, TEST_HOST, ids[i]);
}

static int
baselines_add(struct store *s, const char *tenant, int i)
{
	char session[ID_MAX];
	int rc = upload(s, tenant, "bytes", i);

	ck_assert_int_eq(rc, 0);
	memcpy(session, ids[i], ID_MAX);
	return test_baseline(s, tenant, session, "", ids[i]);
}

static int
baselines_free(struct store *s, const char *tenant, int i)
{
	return baseline_remove(s, tenant, ids[i]);
}

static int
kept_replies_add(struct store *s, const char *tenant, int i)
{
	const struct idempotency_key k = {tenant, "tok-1", numbered("key", i)};
	int rc = store_begin(s) ?: idempotency_claim(s, &k, "print");

	return store_end(s, rc == 1 ? 0 : rc);
}

/* Kept replies are freed only by time. */
static int
kept_replies_free(struct store *s, const char *tenant, int i)
{
	(void)tenant, (void)i;
	db_skew_clock(s->db, IDEMPOTENCY_MS);
	return idempotency_prune(s);
}

/* Captures are freed only by time, here all of them at once. */
static int
captures_per_hour_free(struct store *s, const char *tenant, int i)
{
	(void)tenant, (void)i;
	db_skew_clock(s->db, HOUR_MS);
	return 0;
}

#define bytes_free       profiles_free
#define debug_bytes_add  debug_files_add
#define debug_bytes_free debug_files_free
static const struct {
	int (*add)(struct store *s, const char *tenant, int i);
	int (*free)(struct store *s, const char *tenant, int i);
	int from_start;
} kinds[QUOTAS] = {
#define QUOTA(name, sql, type, def, counts, frees) \
	[QUOTA_##name] = {name##_add, name##_free, \
	                  QUOTA_##name == QUOTA_services},
#include "quotas.def"
#undef QUOTA
};

/* Limits one quota of one tenant. */
static void
limit(struct store *s, struct conf *conf, const char *tenant, enum quota q,
      int most)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char text[128];

	conf_done(conf);
	snprintf(text, sizeof(text), "[quota.%s]\n%s = %d\n", tenant,
	         conf_quotas[q].name, most);
	ck_assert_int_eq(conf_parse("t.conf", text, conf, &why), 0);
	quota_enforce(s, conf);
}

static int64_t
held(struct store *s, const char *tenant, enum quota q)
{
	int64_t n;

	ck_assert_int_eq(quota_held(s, tenant, q, &n), 0);
	return n;
}

/* A tenant that holds all it may of one quota. */
struct full {
	struct test_store t;
	struct conf conf;
};

static void
full_done(struct full *f)
{
	test_store_done(&f->t);
	conf_done(&f->conf);
}
#define CLEANUP_FULL CLEANUP(full_done)

static void
fill(struct full *f, enum quota q)
{
	f->t = test_store();
	ck_assert_int_eq(test_service(&f->t.s, OTHER, TEST_SERVICE), 0);
	limit(&f->t.s, &f->conf, TEST_TENANT, q, LIMIT);
	for (int i = kinds[q].from_start; i < LIMIT; i++)
		ck_assert_int_eq(kinds[q].add(&f->t.s, TEST_TENANT, i), 0);
}

TEST(a_tenant_holds_as_much_as_its_limit_and_no_more)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_FULL struct full f = {0};
		const struct excess *e = &f.t.s.excess;

		fill(&f, q);
		ck_assert_int_eq(kinds[q].add(&f.t.s, TEST_TENANT, 10),
		                 -EXFULL);
		ck_assert_int_eq(e->quota, q);
		ck_assert_int_eq(e->limit, LIMIT);
		ck_assert_int_eq(e->held, LIMIT);
		ck_assert_int_eq(held(&f.t.s, TEST_TENANT, q), LIMIT);
	}
}
END

TEST(a_limit_is_that_of_one_tenant)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_FULL struct full f = {0};

		fill(&f, q);
		for (int i = 20; i < 20 + 2 * LIMIT; i++)
			ck_assert_int_eq(kinds[q].add(&f.t.s, OTHER, i), 0);
		ck_assert_int_eq(held(&f.t.s, TEST_TENANT, q), LIMIT);
		ck_assert_int_eq(held(&f.t.s, OTHER, q),
		                 2 * LIMIT + kinds[q].from_start);
	}
}
END

TEST(what_is_freed_may_be_held_anew)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_FULL struct full f = {0};

		fill(&f, q);
		ck_assert_int_eq(kinds[q].free(&f.t.s, TEST_TENANT, LIMIT - 1),
		                 0);
		ck_assert_int_eq(kinds[q].add(&f.t.s, TEST_TENANT, 10), 0);
	}
}
END

TEST(a_store_that_no_limits_were_given_to_has_none)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_FULL struct full f = {0};
		CLEANUP_STORE struct store other = {.profiles_fd = -1};

		fill(&f, q);
		other = test_store_again(&f.t, false);
		ck_assert_int_eq(kinds[q].add(&other, TEST_TENANT, 10), 0);
	}
}
END

TEST(a_limit_below_what_is_held_takes_nothing)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_FULL struct full f = {0};

		fill(&f, q);
		limit(&f.t.s, &f.conf, TEST_TENANT, q, 1);
		ck_assert_int_eq(kinds[q].add(&f.t.s, TEST_TENANT, 10),
		                 -EXFULL);
		ck_assert_int_eq(f.t.s.excess.held, LIMIT);
		ck_assert_int_eq(held(&f.t.s, TEST_TENANT, q), LIMIT);
	}
}
END

/* --- writers that race ---------------------------------------------------- */

#define RACERS 4

/* Waits until the gate is closed, then adds until the quota is used up; exits
 * with the number of successes. */
static void
race(const struct test_store *t, enum quota q, int gate, int racer)
{
	CLEANUP_STORE struct store s = test_store_again(t, false);
	struct conf conf = {0};
	char byte;
	int n = 0, rc = 0;

	limit(&s, &conf, TEST_TENANT, q, LIMIT);
	ck_assert_int_eq(read(gate, &byte, 1), 0);
	while (!rc && n < IDS / RACERS) {
		rc = kinds[q].add(&s, TEST_TENANT, racer * 16 + n);
		n += !rc;
	}
	_exit(rc == -EXFULL ? n : 100);
}

/* Returns how much all racers have added. */
static int
race_all(const struct test_store *t, enum quota q)
{
	pid_t pids[RACERS];
	int gate[2], sum = 0;

	ck_assert_int_eq(pipe(gate), 0);
	for (int i = 0; i < RACERS; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(gate[1]);
			race(t, q, gate[0], i);
		}
	}
	close(gate[1]);
	close(gate[0]);
	for (int i = 0; i < RACERS; i++) {
		int status;

		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert(WIFEXITED(status));
		sum += WEXITSTATUS(status);
	}
	return sum;
}

TEST(writers_that_race_do_not_pass_a_limit)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_TEST_STORE struct test_store t = test_store();
		int from = kinds[q].from_start;

		store_close(&t.s); /* no connection may pass through fork() */
		ck_assert_int_eq(race_all(&t, q), LIMIT - from);
		t.s = test_store_again(&t, true);
		ck_assert_int_eq(held(&t.s, TEST_TENANT, q), LIMIT);
	}
}
END

/* --- what counts ---------------------------------------------------------- */

/* Makes two windows of a tenant, and returns them. */
static struct window_list
two_windows(struct store *s, const char *tenant)
{
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct window_list l = {0};
	char series[ID_MAX];
	struct window_ask w[2];

	ck_assert_int_eq(series_of(s, tenant, TEST_SERVICE, "cpu", TEST_HOST,
	                           "{}", series),
	                 0);
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct window_ask){.series = series,
		                           .level = WINDOW_CAPTURED,
		                           .start_ms = 1000 * i,
		                           .end_ms = 1000 * i + 1000,
		                           .windows = 1};
		ck_assert_int_eq(segment_append(&g, "bytes", 5, &w[i]), 0);
	}
	ck_assert_int_eq(window_commit(s, &g, w, 2, NULL), 0);
	ck_assert_int_eq(window_plan(s, series, 0, 3000, WINDOW_DAY, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	return l;
}

TEST(a_capture_that_is_deleted_counts_until_it_is_an_hour_old)
{
	CLEANUP_FULL struct full f = {0};
	struct store *s = &f.t.s;

	fill(&f, QUOTA_captures_per_hour);
	for (int i = 0; i < LIMIT; i++) {
		ck_assert_int_eq(job_cancel(s, TEST_TENANT, ids[i]), 0);
		ck_assert_int_eq(session_delete(s, TEST_TENANT, ids[i]), 0);
	}
	ck_assert_int_eq(captures_per_hour_add(s, TEST_TENANT, 10), -EXFULL);
	ck_assert_int_gt(s->excess.wait_ms, HOUR_MS - 60000);
	ck_assert_int_le(s->excess.wait_ms, HOUR_MS);
	ck_assert_int_eq(quota_prune(s), 0);
	db_skew_clock(s->db, HOUR_MS);
	ck_assert_int_eq(quota_prune(s), LIMIT);
	ck_assert_int_eq(captures_per_hour_add(s, TEST_TENANT, 10), 0);
}
END

TEST(captures_of_the_future_do_not_count)
{
	CLEANUP_FULL struct full f = {0};

	fill(&f, QUOTA_captures_per_hour);
	db_skew_clock(f.t.s.db, -HOUR_MS);
	ck_assert_int_eq(captures_per_hour_add(&f.t.s, TEST_TENANT, 10), 0);
}
END

TEST(the_wait_is_for_the_capture_that_makes_room)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = {0};

	ck_assert_int_eq(test_service(&t.s, OTHER, TEST_SERVICE), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(captures_per_hour_add(&t.s, OTHER, i), 0);
	for (int i = 0; i < 4; i++) {
		db_skew_clock(t.s.db, (i + 1) * INT64_C(600000));
		ck_assert_int_eq(captures_per_hour_add(&t.s, TEST_TENANT, i),
		                 0);
	}
	limit(&t.s, &conf, TEST_TENANT, QUOTA_captures_per_hour, 2);
	ck_assert_int_eq(captures_per_hour_add(&t.s, TEST_TENANT, 10), -EXFULL);
	/* the third is of 10 minutes ago: two are left once it is gone */
	ck_assert_int_gt(t.s.excess.wait_ms, HOUR_MS - 660000);
	ck_assert_int_le(t.s.excess.wait_ms, HOUR_MS - 600000);
	conf_done(&conf);
}
END

TEST(a_trigger_does_not_fire_past_the_captures_of_an_hour)
{
	CLEANUP_FULL struct full f = {0};
	CLEANUP_TRIGGER struct trigger t = {0};
	char session[ID_MAX];

	fill(&f, QUOTA_captures_per_hour);
	ck_assert_int_eq(triggers_add(&f.t.s, TEST_TENANT, 10), 0);
	ck_assert_int_eq(
		trigger_get(&f.t.s, TEST_TENANT, TEST_SERVICE, ids[10], &t), 0);
	ck_assert_int_eq(
		trigger_fire(&f.t.s, &t, TEST_HOST, 123, NULL, session),
		-EXFULL);
	db_skew_clock(f.t.s.db, HOUR_MS);
	ck_assert_int_eq(
		trigger_fire(&f.t.s, &t, TEST_HOST, 123, NULL, session), 0);
}
END

TEST(a_capture_begins_below_the_limit_of_bytes_and_ends_above)
{
	CLEANUP_FULL struct full f = {0};
	const struct session_result result = test_result();
	CLEANUP_JOB struct job j = {0};
	struct blob blob;

	fill(&f, QUOTA_bytes);
	ck_assert_int_eq(captures_per_hour_add(&f.t.s, TEST_TENANT, 10), 0);
	test_claim(&f.t.s, &j);
	test_blob(&f.t.s, "0123456789", &blob);
	test_finish(&f.t.s, &j, &result, &blob);
	ck_assert_int_eq(held(&f.t.s, TEST_TENANT, QUOTA_bytes), LIMIT + 10);
	ck_assert_int_eq(captures_per_hour_add(&f.t.s, TEST_TENANT, 11),
	                 -EXFULL);
}
END

TEST(a_checkpoint_takes_the_place_of_the_one_before)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct session_result result = test_result();
	CLEANUP_JOB struct job j = {0};
	struct blob blob;
	struct job_ref ref;

	test_enqueue(&t.s, 0, ids[0]);
	test_claim(&t.s, &j);
	ref = job_ref(&j);
	for (int i = 0; i < 2; i++) {
		test_blob(&t.s, "0123456789", &blob);
		ck_assert_int_eq(job_checkpoint(&t.s, &ref, &result, &blob), 0);
	}
	ck_assert_int_eq(held(&t.s, TEST_TENANT, QUOTA_bytes), 10);
}
END

TEST(series_that_a_worker_captures_do_not_count)
{
	CLEANUP_FULL struct full f = {0};
	CLEANUP_WINDOWS struct window_list l = {0};

	fill(&f, QUOTA_series);
	l = two_windows(&f.t.s, TEST_TENANT);
	ck_assert_int_eq(held(&f.t.s, TEST_TENANT, QUOTA_series), LIMIT);
}
END

TEST(a_profile_that_does_not_fit_is_refused_though_a_smaller_one_fits)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = {0};

	limit(&t.s, &conf, TEST_TENANT, QUOTA_bytes, 10);
	ck_assert_int_eq(upload(&t.s, TEST_TENANT, "0123", 0), 0);
	ck_assert_int_eq(upload(&t.s, TEST_TENANT, "0123456", 1), -EXFULL);
	ck_assert_int_eq(t.s.excess.held, 4);
	ck_assert_int_eq(upload(&t.s, TEST_TENANT, "012345", 1), 0);
	conf_done(&conf);
}
END

TEST(pinned_windows_are_counted_with_profiles)
{
	CLEANUP_FULL struct full f = {0};
	CLEANUP_WINDOWS struct window_list own = {0}, theirs = {0};
	struct store *s = &f.t.s;

	fill(&f, QUOTA_pins);
	own = two_windows(s, TEST_TENANT);
	theirs = two_windows(s, OTHER);
	ck_assert_int_eq(window_pin(s, TEST_TENANT, own.items[0].id, true),
	                 -EXFULL);
	ck_assert_int_eq(window_pin(s, OTHER, theirs.items[0].id, true), 0);
	ck_assert_int_eq(pins_free(s, TEST_TENANT, 0), 0);
	ck_assert_int_eq(window_pin(s, TEST_TENANT, own.items[0].id, true), 0);
	ck_assert_int_eq(held(s, TEST_TENANT, QUOTA_pins), LIMIT);
	ck_assert_int_eq(pins_add(s, TEST_TENANT, 0), -EXFULL);
}
END

TEST(what_is_pinned_may_be_pinned_again)
{
	CLEANUP_FULL struct full f = {0};

	fill(&f, QUOTA_pins);
	ck_assert_int_eq(session_pin(&f.t.s, TEST_TENANT, ids[0], true), 0);
}
END

TEST(a_key_counts_until_it_expires)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct conf conf = {0};
	char key[TOKEN_KEY_MAX];
	struct token_ask ask = {.name = "key",
	                        .role = "viewer",
	                        .tenants = TEST_TENANT,
	                        .default_tenant = TEST_TENANT};
	int64_t now;

	limit(&t.s, &conf, TEST_TENANT, QUOTA_tokens, 1);
	ck_assert_int_eq(store_now(&t.s, &now), 0);
	ask.expires_ms = now + HOUR_MS;
	ck_assert_int_eq(token_create(&t.s, &ask, ids[0], key), 0);
	ask.expires_ms = 0;
	ck_assert_int_eq(token_create(&t.s, &ask, ids[1], key), -EXFULL);
	db_skew_clock(t.s.db, HOUR_MS);
	ck_assert_int_eq(token_create(&t.s, &ask, ids[1], key), 0);
	conf_done(&conf);
}
END

SUITE("quota");
