/* A host and its centre, whose messages come from another machine: polls,
 * orders and results. */
#include "worker/agent/agent_parts.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/msg.h"
#include "lib/store.h"
#include "store/block.h"
#include "store/window.h"
#include "worker/ipc/fetch.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define MINUTE (60 * MS_PER_S)
#define HOUR   (60 * MINUTE)

/* A host; the test plays its courier. */
struct rig {
	struct test_store store;
	struct conf conf;
	struct agent agent;
	int courier;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_done(struct rig *r)
{
	close_ptr(&r->agent.courier);
	close_ptr(&r->courier);
	test_store_done(&r->store);
}

static int
no_courier(void *arg)
{
	(void)arg;
	return 0;
}

static void
rig_init(struct rig *r)
{
	int pair[2];

	*r = (struct rig){.store = test_store(), .agent = AGENT_INIT};
	r->conf.agent_url = (char *)"http://127.0.0.1:1";
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	r->courier = pair[1];
	r->agent.conf = &r->conf;
	r->agent.store = &r->store.s;
	r->agent.host = TEST_HOST;
	r->agent.boot_id = "boot";
	r->agent.max_jobs = 4;
	r->agent.courier = pair[0];
	r->agent.want_courier = no_courier;
}

/* --- orders --------------------------------------------------------------- */

#define ORDERS                                                      \
	"{\"changed\":true,\"generation\":\"1\",\"services\":[%s]," \
	"\"jobs\":[%s],\"cancel\":[],\"stale\":[],\"pollMs\":1000}"

static int
take(struct rig *r, const char *services, const char *jobs)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int64_t poll_ms;

	buf_addf(&text, ORDERS, services, jobs);
	return agent_take_orders(&r->agent, buf_str(&text), text.len, &poll_ms);
}

/* A member of an object, and a value of it that is refused; NULL stands for a
 * number. */
struct member {
	const char *name, *good, *bad;
};

/* Appends an object of the members, one of which is missing or has its bad
 * value. */
static void
put_object(struct buf *out, const struct member *m, size_t n, size_t without,
           const char *value)
{
	const char *separator = "";

	buf_putc(out, '{');
	for (size_t i = 0; i < n; i++) {
		const char *v = i == without ? value : m[i].good;

		if (!v)
			continue;
		buf_addf(out, "%s\"%s\":%s", separator, m[i].name, v);
		separator = ",";
	}
	buf_putc(out, '}');
}

static const struct member service[] = {
	{"tenant", "\"t\"", "\"a b\""},
	{"name", "\"new\"", "\"\""},
	{"kind", "\"auto\"", NULL},
	{"host", "\"\"", NULL},
	{"matchKind", "\"exe\"", NULL},
	{"matchValue", "\"/bin/x\"", "7"},
	{"pprofUrl", "\"\"", "null"},
	{"source", "\"auto\"", NULL},
	{"allow", "{}", "[]"},
	{"labels", "{}", "\"\""},
	{"description", "\"\"", "\"\\u0001\""},
};

TEST(a_service_of_the_centre_has_every_member_or_is_refused)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(service); i++) {
		CLEANUP_BUF struct buf less = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf bad = BUF_INIT(BUF_MAX_SMALL);

		put_object(&less, service, ARRAY_LEN(service), i, NULL);
		ck_assert_msg(take(&r, buf_str(&less), "") == -EBADMSG,
		              "without %s", service[i].name);
		put_object(&bad, service, ARRAY_LEN(service), i,
		           service[i].bad ? service[i].bad : "0");
		ck_assert_msg(take(&r, buf_str(&bad), "") == -EBADMSG,
		              "a bad %s", service[i].name);
	}
	put_object(&good, service, ARRAY_LEN(service), SIZE_MAX, NULL);
	ck_assert_int_eq(take(&r, buf_str(&good), ""), 0);
	ck_assert_str_eq(r.agent.generation, "1");
}
END

static const struct member job[] = {
	{"sessionId", "\"sess-a\"", "\"../a\""},
	{"tenant", "\"t\"", "\"a/b\""},
	{"service", "\"svc\"", "\"a b\""},
	{"profileType", "\"cpu\"", NULL},
	{"origin", "\"capture\"", "\"upload\""},
	{"createdBy", "\"tok-x\"", NULL},
	{"labels", "{}", "[]"},
	{"attempt", "1", "-1"},
};

TEST(a_job_of_the_centre_has_every_member_or_is_refused)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_HELD struct agent_held_list none = {0}, one = {0};

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(job); i++) {
		CLEANUP_BUF struct buf less = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf bad = BUF_INIT(BUF_MAX_SMALL);

		put_object(&less, job, ARRAY_LEN(job), i, NULL);
		ck_assert_msg(take(&r, "", buf_str(&less)) == -EBADMSG,
		              "without %s", job[i].name);
		put_object(&bad, job, ARRAY_LEN(job), i,
		           job[i].bad ? job[i].bad : "0");
		ck_assert_msg(take(&r, "", buf_str(&bad)) == -EBADMSG,
		              "a bad %s", job[i].name);
	}
	ck_assert_int_eq(agent_held(&r.store.s, &none), 0);
	ck_assert_uint_eq(none.n, 0);
	put_object(&good, job, ARRAY_LEN(job), SIZE_MAX, NULL);
	ck_assert_int_eq(take(&r, "", buf_str(&good)), 0);
	ck_assert_int_eq(agent_held(&r.store.s, &one), 0);
	ck_assert_uint_eq(one.n, 1);
}
END

TEST(a_capture_that_the_centre_completes_ends_on_the_host)
{
	CLEANUP_RIG struct rig r;
	static const char orders[] =
		"{\"changed\":false,\"generation\":\"1\",\"services\":[],"
		"\"jobs\":[],\"cancel\":[],\"complete\":[\"sess-a\"],"
		"\"stale\":[],\"pollMs\":1000}";
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JOB struct job j = {0};
	const struct job_state half = {0.5, "capturing", 1};
	int64_t ending = 0, poll_ms;
	struct job_ref ref;

	rig_init(&r);
	put_object(&good, job, ARRAY_LEN(job), SIZE_MAX, NULL);
	ck_assert_int_eq(take(&r, "", buf_str(&good)), 0);
	test_claim(&r.store.s, &j);
	ref = job_ref(&j);
	ck_assert_int_eq(
		agent_take_orders(&r.agent, orders, strlen(orders), &poll_ms),
		0);
	ck_assert_int_eq(job_progress(&r.store.s, &ref, 1000, &half, &ending),
	                 0);
	ck_assert_int_eq(ending, JOB_COMPLETE);
}
END

TEST(the_centres_clock_is_compared_with_the_one_here)
{
	static const struct {
		int64_t other_ms; /* the centre's clock minus this host's */
		int64_t least, most;
	} rows[] = {
		{0, 0, 0},
		{-600000, 599000, 600000},
		{600000, -600000, -599000},
	};
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		int64_t poll_ms;

		r.agent.asked_ms = clock_wall_ms();
		buf_addf(&text,
		         "{\"services\":[],\"jobs\":[],\"cancel\":[],"
		         "\"stale\":[],\"nowMs\":%lld}",
		         (long long)(r.agent.asked_ms + rows[i].other_ms));
		ck_assert_int_eq(agent_take_orders(&r.agent, buf_str(&text),
		                                   text.len, &poll_ms),
		                 0);
		ck_assert_int_ge(r.agent.clock_ms, rows[i].least);
		ck_assert_int_le(r.agent.clock_ms, rows[i].most);
	}
	/* a centre of an earlier release */
	ck_assert_int_eq(take(&r, "", ""), 0);
	ck_assert_int_eq(r.agent.clock_ms, 0);
}
END

/* --- polls ---------------------------------------------------------------- */

TEST(a_poll_tells_of_the_worker_of_this_host)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_POLL_MAX);
	CLEANUP_JSON json_t *j = NULL;
	const struct agent_held_list none = {0};

	rig_init(&r);
	test_heartbeat(&r.store.s, "a-host-before", 11);
	test_heartbeat(&r.store.s, TEST_HOST, 12);
	test_heartbeat(&r.store.s, "z-host-behind", 13);
	ck_assert_int_eq(
		agent_put_poll(&r.agent, &none, clock_mono_ns(), &text), 0);
	j = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(j);
	ck_assert_int_eq(json_integer_value(json_object_get(j, "pid")), 12);
}
END

TEST(a_poll_tells_of_each_job_how_far_it_is)
{
	static const struct {
		double progress;
		int percent;
	} rows[] = {{0, 0},   {0.0003, 1}, {0.425, 42},
	            {1, 100}, {1.5, 0},    {-1, 0}};
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(AGENT_POLL_MAX);
		CLEANUP_JSON json_t *j = NULL;
		struct agent_held h = {.session = (char *)"sess-a",
		                       .tenant = (char *)TEST_TENANT,
		                       .status = (char *)SESSION_RUNNING,
		                       .state = (char *)"running",
		                       .phase = (char *)"capturing",
		                       .attempt = 3,
		                       .samples = 7,
		                       .progress = rows[i].progress};
		const struct agent_held_list l = {.items = &h, .n = 1};
		const json_t *one;

		ck_assert_int_eq(
			agent_put_poll(&r.agent, &l, clock_mono_ns(), &text),
			0);
		j = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
		one = json_array_get(json_object_get(j, "jobs"), 0);
		ck_assert_str_eq(
			json_string_value(json_object_get(one, "phase")),
			"capturing");
		ck_assert_int_eq(
			json_integer_value(json_object_get(one, "attempt")), 3);
		ck_assert_int_eq(
			json_integer_value(json_object_get(one, "samples")), 7);
		ck_assert_int_eq(
			json_integer_value(json_object_get(one, "percent")),
			rows[i].percent);
		ck_assert_int_eq(json_integer_value(json_object_get(j, "room")),
		                 3);
	}
}
END

TEST(a_poll_tells_of_processes_and_how_many_there_are)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_POLL_MAX);
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	const struct agent_held_list none = {0};
	struct worker_process p = {.host = (char *)TEST_HOST,
	                           .tenant = (char *)TEST_TENANT,
	                           .service = (char *)"new",
	                           .boot_id = (char *)"boot",
	                           .argv0 = (char *)"/bin/x",
	                           .cmdline = (char *)"/bin/x \"-\x01\""};
	const struct process_tree tree = {.host = (char *)TEST_HOST,
	                                  .tenant = (char *)TEST_TENANT,
	                                  .service = (char *)"new",
	                                  .followed = 2};
	const json_t *one;

	rig_init(&r);
	put_object(&good, service, ARRAY_LEN(service), SIZE_MAX, NULL);
	ck_assert_int_eq(take(&r, buf_str(&good), ""), 0);
	for (p.ordinal = 0; p.ordinal < 2; p.ordinal++) {
		p.pid = 40 + p.ordinal;
		ck_assert_int_eq(process_put(&r.store.s, &p), 0);
	}
	ck_assert_int_eq(process_tree_put(&r.store.s, &tree), 0);
	ck_assert_int_eq(
		agent_put_poll(&r.agent, &none, clock_mono_ns(), &text), 0);
	j = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(j != NULL, "%s", buf_str(&text));
	ck_assert_uint_eq(json_array_size(json_object_get(j, "processes")), 2);
	one = json_array_get(json_object_get(j, "processes"), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(one, "pid")), 41);
	ck_assert_str_eq(json_string_value(json_object_get(one, "cmdline")),
	                 "/bin/x \"- \"");
	one = json_array_get(json_object_get(j, "trees"), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(one, "followed")),
	                 2);
}
END

/* --- results -------------------------------------------------------------- */

/* Leaves a job that ran and failed, and whose result has not been sent yet. */
static void
end_job(struct rig *r)
{
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JOB struct job claimed = {0};
	const struct job_end end = {"failed", "NoSamples", "",  NULL,
	                            NULL,     NULL,        NULL};
	struct job_ref ref;

	put_object(&good, job, ARRAY_LEN(job), SIZE_MAX, NULL);
	ck_assert_int_eq(take(r, "", buf_str(&good)), 0);
	r->agent.next_ns = clock_mono_ns() + 60 * NS_PER_S;
	agent_step(&r->agent, clock_mono_ns());
	ck_assert_uint_eq(r->agent.result, 0);
	test_claim(&r->store.s, &claimed);
	ref = job_ref(&claimed);
	ck_assert_int_eq(job_finish(&r->store.s, &ref, &end), 0);
}

TEST(a_result_is_sent_before_the_next_poll_is_due)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	end_job(&r);
	agent_step(&r.agent, clock_mono_ns());
	ck_assert_uint_ne(r.agent.result, 0);
	ck_assert_str_eq(r.agent.sending, "sess-a");
}
END

/* Has the centre answer a result with this status. */
static void
answer(struct rig *r, uint32_t status)
{
	struct fetch_answer f = {.type = MSG_FETCHED, .status = status};

	agent_step(&r->agent, clock_mono_ns());
	f.id = r->agent.result;
	ck_assert_uint_ne(f.id, 0);
	ck_assert_int_eq(msg_send(r->courier, &f, sizeof(f), NULL, 0), 0);
	ck_assert_int_eq(agent_fetched(&r->agent, clock_mono_ns()), 0);
	ck_assert_uint_eq(r->agent.result, 0);
}

/* The fate of a result, by the centre's HTTP status. */
static const struct {
	uint32_t status;
	bool held, refused, here; /* its job, and its session */
} settled[] = {
	{200, false, false, false}, {404, false, false, false},
	{409, false, false, false}, {400, true, true, true},
	{411, true, true, true},    {413, true, true, true},
	{415, true, true, true},    {422, true, true, true},
	{401, true, false, true},   {429, true, false, true},
	{500, true, false, true},   {503, true, false, true},
};

TEST(a_result_goes_stays_or_is_tried_again_by_the_centres_answer)
{
	for (size_t i = 0; i < ARRAY_LEN(settled); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_HELD struct agent_held_list l = {0};
		CLEANUP_SESSION struct session s = {0};
		int rc;

		rig_init(&r);
		end_job(&r);
		answer(&r, settled[i].status);
		ck_assert_int_eq(agent_held(&r.store.s, &l), 0);
		ck_assert_msg(l.n == settled[i].held, "%u", settled[i].status);
		if (l.n)
			ck_assert_msg(l.items[0].refused == settled[i].refused,
			              "%u", settled[i].status);
		rc = session_get(&r.store.s, TEST_TENANT, "sess-a", &s);
		ck_assert_msg(!rc == settled[i].here, "%u: %d",
		              settled[i].status, rc);
	}
}
END

/*
 * The host repeats to the centre that it refused the bytes, and keeps them.
 */
TEST(a_result_that_was_refused_stays_on_the_host)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_HELD struct agent_held_list l = {0};
	CLEANUP_SESSION struct session s = {0};

	rig_init(&r);
	end_job(&r);
	answer(&r, 413);
	answer(&r, 200);
	ck_assert_int_eq(agent_held(&r.store.s, &l), 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_int_eq(session_get(&r.store.s, TEST_TENANT, "sess-a", &s), 0);
}
END

/* Has the centre answer a block with this status and text. Returns whether the
 * minute that begins at a time is due again. */
static bool
is_due_after(struct rig *r, int64_t minute_ms, uint32_t status,
             const char *text)
{
	struct fetch_answer f = {.type = MSG_FETCHED, .status = status};
	CLEANUP_FD int body = memfd_create("answer", MFD_CLOEXEC);
	int64_t now_ms = clock_wall_ms();
	enum block_tier tier;
	struct block_span due;

	agent_step(&r->agent, clock_mono_ns());
	tier = r->agent.span.tier;
	f.id = r->agent.block;
	ck_assert_uint_ne(f.id, 0);
	ck_assert_int_eq(fd_write_all(body, text, strlen(text)), 0);
	ck_assert_int_eq(msg_send(r->courier, &f, sizeof(f), &body, 1), 0);
	ck_assert_int_eq(agent_fetched(&r->agent, clock_mono_ns()), 0);
	ck_assert_uint_eq(r->agent.block, 0);
	return block_next(&r->store.s, "t", now_ms, 0, &due) > 0 &&
	       due.tier == tier && due.start_ms <= minute_ms;
}

/* Returns when the minute begins. */
static int64_t
add_minute(struct rig *r)
{
	CLEANUP_BUF struct buf good = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_SEGMENT struct segment g = SEGMENT_INIT;
	struct store *s = &r->store.s;
	int64_t at = clock_wall_ms() / HOUR * HOUR - 2 * HOUR;
	struct window_ask w = {
		.level = WINDOW_MINUTE,
		.start_ms = at,
		.end_ms = at + MINUTE,
		.duration_ms = MINUTE,
		.windows = 6,
		.sample_count = 1,
	};
	char series[ID_MAX];

	put_object(&good, service, ARRAY_LEN(service), SIZE_MAX, NULL);
	ck_assert_int_eq(take(r, buf_str(&good), ""), 0);
	ck_assert_int_eq(
		series_of(s, "t", "new", "cpu", TEST_HOST, "{}", series), 0);
	w.series = series;
	ck_assert_int_eq(segment_create(s, TEST_HOST, &g), 0);
	ck_assert_int_eq(segment_append(&g, "noise", 5, &w), 0);
	ck_assert_int_eq(segment_sync(&g), 0);
	ck_assert_int_eq(window_commit(s, &g, &w, 1, NULL), 0);
	return at;
}

/* An older centre answers 422 to a form that it does not know. */
TEST(a_block_waits_for_a_centre_that_does_not_know_its_form)
{
	static const struct {
		uint32_t status;
		const char *text;
		bool due;
	} rows[] = {
		{422, "{\"error_code\":\"InvalidBlock\"}", true},
		{422, "{\"error_code\":\"RequestTooExpensive\"}", false},
		{500, "", true},
		{413, "", false},
		{200, "{}", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;

		int64_t at;

		rig_init(&r);
		at = add_minute(&r);
		r.agent.next_ns = clock_mono_ns() + 60 * NS_PER_S;
		ck_assert_msg(is_due_after(&r, at, rows[i].status,
		                           rows[i].text) == rows[i].due,
		              "%u", rows[i].status);
	}
}
END

/* The courier has the key, and can say no more than its answers allow. */
TEST(a_message_that_is_no_answer_is_passed_over)
{
	CLEANUP_RIG struct rig r;
	struct fetch_answer f = {.type = MSG_FETCHED, .status = 200};
	static const size_t sizes[] = {1, 4, sizeof(f) - 1, sizeof(f)};

	rig_init(&r);
	end_job(&r);
	agent_step(&r.agent, clock_mono_ns());
	f.id = r.agent.result;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		f.type = sizes[i] == sizeof(f) ? MSG_FETCH : MSG_FETCHED;
		ck_assert_int_eq(msg_send(r.courier, &f, sizes[i], NULL, 0), 0);
		ck_assert_int_eq(agent_fetched(&r.agent, clock_mono_ns()), 0);
		ck_assert_uint_eq(r.agent.result, f.id);
	}
	f.type = MSG_FETCHED;
	f.id++; /* no question has this id */
	ck_assert_int_eq(msg_send(r.courier, &f, sizeof(f), NULL, 0), 0);
	ck_assert_int_eq(agent_fetched(&r.agent, clock_mono_ns()), 0);
	ck_assert_uint_eq(r.agent.result, f.id - 1);
	close_ptr(&r.courier);
	ck_assert_int_eq(agent_fetched(&r.agent, clock_mono_ns()), -EPIPE);
}
END

SUITE("agent");
