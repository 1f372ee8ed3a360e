/*
 * The fate of profiles that wait for a collector. The test plays the
 * analyser and the fetcher.
 */
#include "worker/collectors/deliveries.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "lib/any_profile.h"
#include "lib/store.h"
#include "lib/windows.h"
#include "store/db/db_test.h"
#include "store/service.h"
#include "worker/ipc/fetch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COLLECTOR "http://collector.test:4318"

struct rig {
	struct test_store t;
	struct conf conf;
	struct runs runs;
	struct deliveries d;
	int analyser, fetcher; /* the test's ends */
	int64_t now_ns;
};

static int
fetcher_is_there(void *arg)
{
	(void)arg;
	return 0;
}

static void
set_collector(struct store *s, const char *collector)
{
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(service_get(s, TEST_TENANT, TEST_SERVICE, &v), 0);
	free(v.collector);
	free(v.labels);
	v.collector = strdup(collector);
	v.labels = strdup("{\"team\":\"web\"}");
	ck_assert_int_eq(service_replace(s, &v), 0);
}

static void
rig_init(struct rig *r, const char *config)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int analyser[2], fetcher[2];

	*r = (struct rig){.now_ns = clock_mono_ns()};
	r->t = test_store();
	ck_assert_int_eq(conf_parse("test", config, &r->conf, &why), 0);
	ck_assert_int_eq(msg_pair(analyser), 0);
	ck_assert_int_eq(msg_pair(fetcher), 0);
	r->analyser = analyser[0];
	r->fetcher = fetcher[0];
	r->runs = (struct runs){.store = &r->t.s,
	                        .conf = &r->conf,
	                        .analyser = analyser[1],
	                        .fetcher = fetcher[1]};
	r->d = (struct deliveries){.runs = &r->runs,
	                           .host = TEST_HOST,
	                           .want_fetcher = fetcher_is_there};
	set_collector(&r->t.s, COLLECTOR);
}

static void
rig_done(struct rig *r)
{
	deliveries_done(&r->d);
	close(r->analyser);
	close(r->fetcher);
	close(r->runs.analyser);
	close(r->runs.fetcher);
	conf_done(&r->conf);
	test_store_done(&r->t);
}
#define CLEANUP_RIG CLEANUP(rig_done)

static int64_t
waiting(struct rig *r)
{
	int64_t n = -1;

	ck_assert_int_eq(delivery_waiting(&r->t.s, TEST_HOST, &n), 0);
	return n;
}

/* Ends a capture as the worker does; its profile has these bytes. */
static void
capture(struct rig *r, const char *bytes)
{
	CLEANUP_JOB struct job j = {0};
	const struct session_result result = test_result();
	static int n;
	struct blob blob;
	const struct job_end end = {.state = "done",
	                            .error_code = "",
	                            .error_message = "",
	                            .result = &result,
	                            .blob = &blob};
	struct job_ref ref;
	char id[ID_MAX];

	test_enqueue(&r->t.s, n++, id);
	test_claim(&r->t.s, &j);
	ref = job_ref(&j);
	test_blob(&r->t.s, bytes, &blob);
	ck_assert_int_eq(store_begin(&r->t.s), 0);
	ck_assert_int_eq(store_end(&r->t.s, job_finish(&r->t.s, &ref, &end)
	                                            ?: delivery_add_session(
							       &r->t.s, id)),
	                 0);
}

static void
step(struct rig *r, int64_t seconds)
{
	r->now_ns += seconds * NS_PER_S;
	deliveries_step(&r->d, r->now_ns);
}

/* Takes the question to the analyser, if there is one. */
static bool
asked(struct rig *r, struct buf *out)
{
	struct msg_capture m;
	CLEANUP_FD int fd = -1;
	size_t nfds = 1;

	buf_clear(out);
	if (recv(r->analyser, NULL, 0, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) < 0)
		return false;
	ck_assert_int_eq(msg_recv(r->analyser, &m, sizeof(m), &fd, &nfds),
	                 sizeof(m));
	ck_assert_uint_eq(m.type, MSG_EXPORT);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fd_read_all(fd, out), 0);
	return true;
}

/* Answers with a row for each piece, whose request is "body". */
static void
answer(struct rig *r, const struct export_row *rows, size_t n,
       enum capture_error error)
{
	const struct msg_batch m = {.type = MSG_EXPORTED, .error = error};
	int data = memfd_create("data", MFD_CLOEXEC);
	int fd = memfd_create("rows", MFD_CLOEXEC);

	ck_assert_int_eq(fd_write_all(data, "body", 4), 0);
	ck_assert_int_eq(fd_write_all(fd, rows, n * sizeof(*rows)), 0);
	deliveries_take(&r->d, &m, data, fd, r->now_ns);
}

static const struct export_row made = {.length = 4};

static bool
posted(struct rig *r, struct fetch_ask *out, struct buf *body)
{
	CLEANUP_FD int fd = -1;
	size_t nfds = 1;

	if (recv(r->fetcher, NULL, 0, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) < 0)
		return false;
	ck_assert_int_eq(msg_recv(r->fetcher, out, sizeof(*out), &fd, &nfds),
	                 sizeof(*out));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fd_read_all(fd, body), 0);
	return true;
}

/* Brings a delivery to the point at which the collector answers. */
static bool
send_one(struct rig *r, struct fetch_ask *out)
{
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	step(r, 1);
	if (!asked(r, &piece))
		return false;
	answer(r, &made, 1, CAPTURE_OK);
	return posted(r, out, &body);
}

/* The collector answers; bytes is the body, or NULL. */
static void
reply(struct rig *r, const struct fetch_ask *to, struct fetch_answer a,
      const char *bytes, size_t n)
{
	int body = bytes ? memfd_create("reply", MFD_CLOEXEC) : -1;

	a.id = to->id;
	a.bytes = n;
	if (bytes)
		ck_assert_int_eq(fd_write_all(body, bytes, n), 0);
	ck_assert(deliveries_fetched(&r->d, &a, &body, r->now_ns));
	if (body >= 0)
		close(body);
}

static const char *
message(const struct rig *r)
{
	return r->d.ntroubles ? r->d.troubles[0].message : "";
}

TEST(a_capture_is_converted_with_its_origin_and_posted)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	struct export_piece head;
	struct fetch_ask ask;

	rig_init(&r, "");
	capture(&r, "bytes");
	step(&r, 1);
	ck_assert(asked(&r, &piece));
	memcpy(&head, piece.p, sizeof(head));
	ck_assert_uint_eq(head.length, 5);
	ck_assert_uint_eq(piece.len, sizeof(head) + head.origin + 5);
	buf_putc(&piece, '\0');
	ck_assert_ptr_nonnull(strstr(piece.p + sizeof(head),
	                             "\"service\":\"" TEST_SERVICE
	                             "\",\"host\":\"" TEST_HOST
	                             "\",\"id\":\"sess-"));
	ck_assert_ptr_nonnull(
		strstr(piece.p + sizeof(head), "\"labels\":{\"team\":\"web\""));
	ck_assert_str_eq(piece.p + sizeof(head) + head.origin, "bytes");
	answer(&r, &made, 1, CAPTURE_OK);
	ck_assert(posted(&r, &ask, &body));
	ck_assert_str_eq(buf_str(&body), "body");
	ck_assert_str_eq(ask.url, COLLECTOR "/v1development/profiles");
	ck_assert_str_eq(ask.tenant, TEST_TENANT);
	ck_assert_uint_eq(ask.purpose, FETCH_COLLECTOR);
	ck_assert_uint_eq(ask.method, FETCH_POST);
	ck_assert_ptr_nonnull(strstr(ask.headers, "Content-Encoding: gzip\n"));
	ck_assert_int_eq(waiting(&r), 1);
	reply(&r, &ask, (struct fetch_answer){.status = 200}, "\x0a\x00", 2);
	ck_assert_int_eq(waiting(&r), 0);
	ck_assert_int_eq(r.d.counts.sent, 1);
}
END

TEST(the_path_of_an_address_is_kept)
{
	static const struct {
		const char *collector, *url; /* NULL: nothing is sent */
	} rows[] = {
		{"http://h:4318", "http://h:4318/v1development/profiles"},
		{"https://h/", "https://h/v1development/profiles"},
		{"https://h/x/", "https://h/x/"},
		{"https://h/v1/p?a=b", "https://h/v1/p?a=b"},
		{"ftp://h/", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		struct fetch_ask ask;

		rig_init(&r, "");
		set_collector(&r.t.s, rows[i].collector);
		capture(&r, "bytes");
		ck_assert_int_eq(send_one(&r, &ask), rows[i].url != NULL);
		if (rows[i].url)
			ck_assert_str_eq(ask.url, rows[i].url);
		ck_assert_int_eq(waiting(&r), 1);
	}
}
END

static const struct {
	struct fetch_answer a;
	bool waits; /* it will be sent again */
	int64_t dropped, failures;
	const char *message;
} answers[] = {
	{{.status = 200}, false, 0, 0, ""},
	{{.status = 202}, false, 0, 0, ""},
	{{.status = 429}, true, 0, 1, "the collector answers with 429"},
	{{.status = 502}, true, 0, 1, "the collector answers with 502"},
	{{.status = 503}, true, 0, 1, "the collector answers with 503"},
	{{.status = 504}, true, 0, 1, "the collector answers with 504"},
	{{.error = FETCH_TIMEOUT, .status = 200},
         true,
         0,
         1,
         "there was no answer in time"},
	{{.error = FETCH_HOST},
         true,
         0,
         1,
         "the host is not one that configuration allows"},
	/* not to be sent again, by the protocol */
	{{.status = 199}, false, 1, 1, "the collector answers with 199"},
	{{.status = 301}, false, 1, 1, "the collector answers with 301"},
	{{.status = 400}, false, 1, 1, "the collector answers with 400"},
	{{.status = 401}, false, 1, 1, "the collector answers with 401"},
	{{.status = 500}, false, 1, 1, "the collector answers with 500"},
};

TEST(what_may_pass_is_tried_again_and_what_is_refused_is_dropped)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		CLEANUP_RIG struct rig r;
		struct fetch_ask ask;

		rig_init(&r, "");
		capture(&r, "bytes");
		ck_assert(send_one(&r, &ask));
		reply(&r, &ask, answers[i].a, NULL, 0);
		ck_assert_msg(waiting(&r) == answers[i].waits, "row %zu", i);
		ck_assert_int_eq(r.d.counts.dropped, answers[i].dropped);
		ck_assert_int_eq(r.d.counts.failures, answers[i].failures);
		ck_assert_int_eq(r.d.counts.sent, !answers[i].failures);
		ck_assert_str_eq(message(&r), answers[i].message);
		/* nothing is sent at once after a failure */
		capture(&r, "more");
		ck_assert_int_eq(send_one(&r, &ask), !answers[i].failures);
	}
}
END

TEST(pauses_grow_and_are_as_long_as_the_collector_asks)
{
	static const struct {
		const char *retry_after;
		int64_t failures, before, after; /* seconds */
	} rows[] = {
		{"", 1, 4, 6},
		{"", 2, 9, 12},
		{"", 9, 299, 332},
		{"60", 1, 59, 67},
		{"7200", 1, 3599, 3962},
		{"-5", 1, 4, 6},
		{"Wed, 21 Oct 2026 07:28:00 GMT", 1, 4, 6},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		struct fetch_answer a = {.status = 429};
		struct fetch_ask ask;

		rig_init(&r, "[collector]\nretry = 5s\n");
		capture(&r, "bytes");
		for (int64_t k = 0; k < rows[i].failures; k++) {
			ck_assert(send_one(&r, &ask));
			if (k + 1 == rows[i].failures)
				strcpy(a.retry_after, rows[i].retry_after);
			reply(&r, &ask, a, NULL, 0);
			if (k + 1 < rows[i].failures)
				r.now_ns += 400 * NS_PER_S;
		}
		r.now_ns += (rows[i].before - 1) * NS_PER_S;
		ck_assert_msg(!send_one(&r, &ask), "row %zu", i);
		r.now_ns += (rows[i].after - rows[i].before - 1) * NS_PER_S;
		ck_assert_msg(send_one(&r, &ask), "row %zu", i);
	}
}
END

TEST(a_reply_is_read_by_the_analyser_unless_it_is_the_plain_one)
{
	static const struct {
		struct export_row row;
		int64_t sent, rejected;
		const char *message;
	} rows[] = {
		{{.rejected = 0}, 1, 0, ""},
		{{.rejected = 2, .message = "too old"},
	         1,
	         2,
	         "the collector rejected 2 profiles: too old"},
		{{.message = "beware"}, 1, 0, "the collector warns: beware"},
		{{.failed = 1},
	         0,
	         0,
	         "the server answers, but not as a collector does"},
		/* from an analyser that was taken over */
		{{.rejected = -1, .message = "\xff"},
	         1,
	         INT32_MAX,
	         "the collector rejected 2147483647 profiles: ?"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_BUF struct buf piece = BUF_INIT(BUF_MAX_SMALL);
		struct export_piece head;
		struct fetch_ask ask;

		rig_init(&r, "");
		capture(&r, "bytes");
		ck_assert(send_one(&r, &ask));
		reply(&r, &ask, (struct fetch_answer){.status = 200}, "reply",
		      5);
		ck_assert_int_eq(waiting(&r), 1);
		step(&r, 0);
		ck_assert(asked(&r, &piece));
		memcpy(&head, piece.p, sizeof(head));
		ck_assert_uint_eq(head.origin, 0);
		ck_assert_mem_eq(piece.p + sizeof(head), "reply", 5);
		answer(&r, &rows[i].row, 1, CAPTURE_OK);
		ck_assert_int_eq(r.d.counts.sent, rows[i].sent);
		ck_assert_int_eq(r.d.counts.rejected, rows[i].rejected);
		ck_assert_str_eq(message(&r), rows[i].message);
		ck_assert_int_eq(waiting(&r), !rows[i].sent);
	}
}
END

TEST(profiles_of_a_service_are_sent_one_after_another_the_oldest_first)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	struct fetch_ask ask;
	const char *names[] = {"first", "second"};

	rig_init(&r, "");
	capture(&r, names[0]);
	test_sql(&r.t, "UPDATE delivery SET queued_ms = queued_ms - 1", NULL,
	         0);
	capture(&r, names[1]);
	for (size_t i = 0; i < 2; i++) {
		step(&r, 1);
		ck_assert(asked(&r, &piece));
		ck_assert_ptr_nonnull(
			memmem(piece.p, piece.len, names[i], strlen(names[i])));
		answer(&r, &made, 1, CAPTURE_OK);
		ck_assert(posted(&r, &ask, &body));
		step(&r, 1);
		ck_assert(!asked(&r, &piece));
		reply(&r, &ask, (struct fetch_answer){.status = 200}, NULL, 0);
	}
	ck_assert_int_eq(waiting(&r), 0);
}
END

TEST(what_is_lost_with_a_process_is_done_again)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	struct fetch_ask ask;

	rig_init(&r, "");
	capture(&r, "bytes");
	step(&r, 1);
	ck_assert(asked(&r, &piece));
	deliveries_analyser_gone(&r.d);
	step(&r, 1);
	ck_assert(asked(&r, &piece));
	answer(&r, NULL, 0, CAPTURE_BUSY);
	step(&r, 1);
	ck_assert(asked(&r, &piece));
	answer(&r, &made, 1, CAPTURE_OK);
	ck_assert(posted(&r, &ask, &body));
	deliveries_fetcher_gone(&r.d, r.now_ns);
	ck_assert_int_eq(waiting(&r), 1);
	r.now_ns += 10 * NS_PER_S;
	ck_assert(send_one(&r, &ask));
}
END

/* Its answer would be taken for the answer to the second batch. */
TEST(an_analyser_that_takes_long_is_not_asked_again)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	struct fetch_ask ask;

	rig_init(&r, "");
	capture(&r, "bytes");
	step(&r, 1);
	ck_assert(asked(&r, &piece));
	step(&r, 600);
	ck_assert(!asked(&r, &piece));
	answer(&r, &made, 1, CAPTURE_OK);
	ck_assert(posted(&r, &ask, &body));
}
END

TEST(a_profile_at_which_converters_die_is_given_up)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);

	rig_init(&r, "");
	capture(&r, "bytes");
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(waiting(&r), 1);
		step(&r, 1);
		ck_assert(asked(&r, &piece));
		answer(&r, NULL, 0, CAPTURE_FINISH_DIED);
	}
	ck_assert_int_eq(waiting(&r), 0);
	ck_assert_int_eq(r.d.counts.dropped, 1);
	ck_assert_str_eq(message(&r), "a profile cannot be converted");
}
END

TEST(a_queue_is_bounded_by_number_and_by_age)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
	struct fetch_ask ask;

	rig_init(&r, "[collector]\nwaiting = 2\nkeep = 60s\n");
	for (unsigned i = 0; i < 5; i++)
		capture(&r, "bytes");
	ck_assert_int_eq(waiting(&r), 5);
	step(&r, 1);
	ck_assert_int_eq(waiting(&r), 2);
	ck_assert_int_eq(r.d.counts.dropped, 3);
	ck_assert_ptr_nonnull(strstr(message(&r), "[collector] waiting"));
	ck_assert(asked(&r, &piece));
	answer(&r, &made, 1, CAPTURE_OK);
	ck_assert(posted(&r, &ask, &piece));
	reply(&r, &ask, (struct fetch_answer){.error = FETCH_CONNECT}, NULL, 0);
	test_sql(&r.t, "UPDATE delivery SET queued_ms = queued_ms - 61000",
	         NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		step(&r, 1);
	ck_assert_int_eq(waiting(&r), 0);
	ck_assert_int_eq(r.d.counts.dropped, 5);
	ck_assert_str_eq(message(&r), "nothing answers there");
}
END

TEST(a_service_without_a_collector_has_no_queue)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;

	rig_init(&r, "");
	capture(&r, "bytes");
	ck_assert(send_one(&r, &ask));
	reply(&r, &ask, (struct fetch_answer){.status = 503}, NULL, 0);
	ck_assert_uint_eq(r.d.ntroubles, 1);
	set_collector(&r.t.s, "");
	step(&r, 11);
	ck_assert_int_eq(waiting(&r), 0);
	ck_assert_uint_eq(r.d.ntroubles, 0);
	ck_assert_int_eq(r.d.counts.dropped, 0);
	capture(&r, "bytes");
	ck_assert_int_eq(waiting(&r), 0);
}
END

TEST(a_session_that_a_client_deletes_is_not_missed)
{
	CLEANUP_RIG struct rig r;
	char id[ID_MAX];

	rig_init(&r, "");
	capture(&r, "bytes");
	test_sql(&r.t, "SELECT id FROM session", id, sizeof(id));
	ck_assert_int_eq(session_delete(&r.t.s, TEST_TENANT, id), 0);
	ck_assert_int_eq(waiting(&r), 0);
	step(&r, 1);
	ck_assert_int_eq(r.d.counts.dropped, 0);
}
END

TEST(a_profile_that_is_gone_is_dropped)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);

	rig_init(&r, "");
	capture(&r, "bytes");
	test_sql(&r.t, "DELETE FROM session", NULL, 0);
	step(&r, 1);
	ck_assert(!asked(&r, &piece));
	ck_assert_int_eq(waiting(&r), 0);
	ck_assert_int_eq(r.d.counts.dropped, 1);
}
END

/* The centre of a fleet has the session, so the host keeps it for the collector
 * only. */
TEST(a_session_that_stays_for_its_collector_goes_with_its_delivery)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;
	char n[8];

	rig_init(&r, "");
	capture(&r, "bytes");
	test_sql(&r.t, "UPDATE delivery SET last = 1", NULL, 0);
	ck_assert(send_one(&r, &ask));
	test_sql(&r.t, "SELECT COUNT(*) FROM session", n, sizeof(n));
	ck_assert_str_eq(n, "1");
	reply(&r, &ask, (struct fetch_answer){.status = 200}, NULL, 0);
	test_sql(&r.t, "SELECT COUNT(*) FROM session", n, sizeof(n));
	ck_assert_str_eq(n, "0");
	test_sql(&r.t, "SELECT COUNT(*) FROM blob WHERE deleted_ms = 0", n,
	         sizeof(n));
	ck_assert_str_eq(n, "0");
}
END

TEST(windows_of_this_host_are_sent_and_those_that_were_pushed_are_not)
{
	static const struct {
		struct test_window w;
		int64_t waiting;
	} rows[] = {
		{{.start_ms = 60000}, 1},
		{{.start_ms = 60000, .host = WINDOW_PUSHED}, 0},
		{{.start_ms = 60000, .host = "another"}, 0},
		{{.start_ms = 60000, .level = WINDOW_MINUTE}, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		CLEANUP_BUF struct buf piece = BUF_INIT(1 << 20);
		CLEANUP_PROFILE struct profile *p = any_profile(1);
		struct test_window w = rows[i].w;
		char id[ID_MAX], n[8];

		rig_init(&r, "");
		w.profile = p;
		test_window(&r.t.s, &w, id);
		/* every delivery in the store, since no host sends those of
		 * others */
		test_sql(&r.t, "SELECT COUNT(*) FROM delivery", n, sizeof(n));
		ck_assert_msg(atoi(n) == rows[i].waiting, "row %zu", i);
		step(&r, 1);
		ck_assert_int_eq(asked(&r, &piece), rows[i].waiting);
		ck_assert_int_eq(memmem(piece.p, piece.len, id, strlen(id)) !=
		                         NULL,
		                 rows[i].waiting);
	}
}
END

TEST(problems_and_counts_are_published)
{
	CLEANUP_RIG struct rig r;
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	const json_t *all, *problem;
	struct delivery_host h;
	struct fetch_ask ask;

	rig_init(&r, "");
	capture(&r, "bytes");
	ck_assert(send_one(&r, &ask));
	reply(&r, &ask, (struct fetch_answer){.status = 400}, NULL, 0);
	capture(&r, "bytes");
	json_open(&text, NULL, '{');
	deliveries_json(&r.d, &text);
	json_close(&text, '}');
	j = json_loads(buf_str(&text), 0, NULL);
	all = json_object_get(j, "collectors");
	delivery_host_read(all, &h);
	ck_assert_int_eq(h.waiting, 1);
	ck_assert_int_eq(h.failing, 1);
	ck_assert_int_eq(h.dropped, 1);
	problem = json_array_get(json_object_get(all, "problems"), 0);
	ck_assert_str_eq(
		json_string_value(json_object_get(problem, "message")),
		"the collector answers with 400; 1 profile was dropped");
	ck_assert_str_eq(json_string_value(json_object_get(problem, "service")),
	                 TEST_SERVICE);
}
END

TEST(what_a_host_left_when_it_went_is_removed_by_age)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r, "");
	capture(&r, "a profile");
	db_skew_clock(r.t.s.db, 1000);
	capture(&r, "another profile");
	db_skew_clock(r.t.s.db, 5000);
	ck_assert_int_eq(delivery_prune(&r.t.s, 5500), 0);
	ck_assert_int_eq(delivery_prune(&r.t.s, 4500), 1);
	ck_assert_int_eq(waiting(&r), 1);
	/* a session ends with its delivery, and a delivery with its session */
	test_sql(&r.t, "UPDATE delivery SET last = 1", NULL, 0);
	ck_assert_int_eq(delivery_prune(&r.t.s, 0), 0);
	ck_assert_int_eq(waiting(&r), 1);
}
END

SUITE("deliveries");
