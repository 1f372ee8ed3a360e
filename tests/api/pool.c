/* How the pool of processes handles signals, waits, crashes and a new
 * configuration. */
#include "lib/api.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Long enough for an immediate answer. Only failing tests, and tests that
 * nothing arrives, wait for that long. */
#define SOON_MS 500

static void
assert_healthy(struct test_api *a)
{
	CLEANUP_REPLY struct client_reply r =
		ask(a, (struct ask){.path = "/healthz"});

	ck_assert_int_eq(r.status, 200);
}

static int
begin_wait(struct test_api *a, const char *id)
{
	char path[128];

	snprintf(path, sizeof(path), API_PROFILES "/%s?wait=20", id);
	return ask_begin(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static void
assert_ended(int fd, const char *status)
{
	CLEANUP_REPLY struct client_reply r = ask_end(fd);

	ck_assert_str_eq(reply_text(&r, "status"), status);
}

/* Returns whether something arrives, or the peer hangs up, within ms. */
static bool
comes(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

TEST(each_signal_to_stop_ends_an_idle_process_well)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1,
	                              SIGUSR2};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		int status;

		assert_healthy(&a); /* now signals are blocked */
		kill(a.pids[0], signals[i]);
		status = test_api_wait(&a, 0);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}
END

/* Begins two waits, for which there is one ticket; returns the one that got
 * it. */
static int
hold_one(struct test_api *a, const char *id)
{
	int fds[] = {begin_wait(a, id), begin_wait(a, id)};
	struct pollfd p[] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
	int quick;

	ck_assert_int_gt(poll(p, 2, -1), 0);
	quick = p[0].revents ? 0 : 1;
	assert_ended(fds[quick], "running");
	return fds[!quick];
}

TEST(a_signal_ends_a_wait_with_an_answer)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct job_ref ref = test_capture(&a);
	int fd = hold_one(&a, ref.session);

	for (int i = 0; i < 2; i++)
		kill(a.pids[i], SIGTERM);
	assert_ended(fd, "running");
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(test_api_wait(&a, i), 0);
}
END

TEST(at_most_half_of_the_pool_waits)
{
	CLEANUP_API struct test_api a = test_api(4, "");
	const struct job_ref ref = test_capture(&a);
	struct pollfd p[4];
	int answered = 0;

	for (int i = 0; i < 4; i++)
		p[i] = (struct pollfd){begin_wait(&a, ref.session), POLLIN, 0};
	while (answered < 2) {
		ck_assert_int_gt(poll(p, 4, -1), 0);
		for (int i = 0; i < 4; i++) {
			if (!p[i].revents)
				continue;
			assert_ended(p[i].fd, "running");
			p[i].fd = -1;
			answered++;
		}
	}
	ck_assert_int_eq(poll(p, 4, SOON_MS), 0);
	assert_healthy(&a);
	test_capture_end(&a, &ref);
	for (int i = 0; i < 4; i++)
		if (p[i].fd >= 0)
			assert_ended(p[i].fd, "completed");
}
END

TEST(a_pool_of_one_never_waits)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct job_ref ref = test_capture(&a);

	assert_ended(begin_wait(&a, ref.session), "running");
}
END

TEST(a_killed_process_gives_its_ticket_back)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct job_ref ref = test_capture(&a);
	int fd = hold_one(&a, ref.session);

	for (int i = 0; i < 2; i++)
		test_api_restart(&a, i);
	close(fd);
	fd = begin_wait(&a, ref.session);
	ck_assert(!comes(fd, SOON_MS));
	test_capture_end(&a, &ref);
	assert_ended(fd, "completed");
}
END

TEST(a_client_that_leaves_ends_its_wait)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct job_ref ref = test_capture(&a);
	int fd = hold_one(&a, ref.session);

	close(fd);
	/* repeats until the process has seen that the ticket is free */
	do
		fd = begin_wait(&a, ref.session);
	while (comes(fd, SOON_MS) && close(fd) == 0);
	test_capture_end(&a, &ref);
	assert_ended(fd, "completed");
}
END

TEST(a_request_that_begins_late_is_answered)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const struct client_param p[] = {{"REQUEST_METHOD", "GET"},
	                                 {"REQUEST_URI", "/healthz"},
	                                 {NULL, NULL}};
	int fd = client_connect(a.socket);

	ck_assert(!comes(fd, SOON_MS));
	client_send(fd, p, "", 0);
	client_receive(fd, &r);
	close(fd);
	ck_assert_int_eq(r.status, 200);
}
END

TEST(a_request_cut_anywhere_is_dropped_and_the_next_one_served)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct client_param p[] = {{"REQUEST_METHOD", "GET"},
	                                 {"REQUEST_URI", "/healthz"},
	                                 {NULL, NULL}};
	char rest[256];

	for (size_t n = 1; n < 90; n++) {
		int fd = client_connect(a.socket);

		client_send_part(fd, p, n);
		shutdown(fd, SHUT_WR);
		while (read(fd, rest, sizeof(rest)) > 0)
			;
		close(fd);
	}
	assert_healthy(&a);
}
END

TEST(a_body_shorter_than_its_length_is_dropped)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char rest[1024], bearer[TOKEN_KEY_MAX + 8];
	const struct client_param p[] = {
		{"REQUEST_METHOD", "POST"},
		{"REQUEST_URI", API_PROFILES "/start"},
		{"CONTENT_TYPE", "application/json"},
		{"CONTENT_LENGTH", "100"},
		{"HTTP_AUTHORIZATION", bearer},
		{NULL, NULL},
	};
	int fd = client_connect(a.socket);
	ssize_t n;

	snprintf(bearer, sizeof(bearer), "Bearer %s", a.keys[KEY_ADMIN]);
	client_send(fd, p, "{}", 2);
	n = read(fd, rest, sizeof(rest));
	close(fd);
	ck_assert(n <= 0 || !memmem(rest, (size_t)n, "Status:", 7));
	assert_healthy(&a);
}
END

TEST(a_connection_is_closed_at_once_when_its_request_was_read)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const struct ask asked[] = {
		{.path = "/healthz"},
		{.key = KEY_ADMIN,
	         .method = "POST",
	         .path = "/api/v1/services",
	         .body = "{\"name\":\"x\",\"match\":{\"exe\":\"/usr/bin/x\"}}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		CLEANUP_FD int fd = ask_begin(&a, asked[i]);
		char reply[4096];
		ssize_t n;

		do
			n = read(fd, reply, sizeof(reply));
		while (n > 0);
		ck_assert_int_eq(n, 0);
		/* a connection that is shut down takes bytes for a while */
		ck_assert_int_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	}
}
END

TEST(a_database_put_in_place_of_the_old_one_is_followed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_TEST_STORE struct test_store other = test_store();
	const struct ask q = {.key = KEY_VIEWER, .path = "/api/v1/services"};
	CLEANUP_REPLY struct client_reply before = ask(&a, q), after = {0};
	static const char *const files[] = {"stoker.db-wal", "stoker.db-shm",
	                                    "stoker.db"};
	char from[96], to[96];

	if (test_on_server())
		return; /* it is about SQLite's file */
	ck_assert_int_eq(before.status, 200);
	store_close(&other.s);
	other.s = (struct store){.profiles_fd = -1};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(to, sizeof(to), "%s/%s", a.store.dir, files[i]);
		unlink(to);
	}
	snprintf(from, sizeof(from), "%s/stoker.db", other.dir);
	ck_assert_int_eq(rename(from, to), 0);
	after = ask(&a, q);
	assert_error(&after, 401, "Unauthorized");
}
END

TEST(a_database_that_closed_its_connections_is_asked_again)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct ask q = {.key = KEY_VIEWER, .path = "/api/v1/services"};
	CLEANUP_REPLY struct client_reply before = ask(&a, q), after = {0};

	ck_assert_int_eq(before.status, 200);
	if (test_on_server())
		test_sql(&a.store,
		         "SELECT pg_terminate_backend(pid, 5000) "
		         "FROM pg_stat_activity WHERE application_name = "
		         "current_schema() AND pid <> pg_backend_pid()",
		         NULL, 0);
	after = ask(&a, q);
	ck_assert_int_eq(after.status, 200);
}
END

/* Returns whether a transaction waits for another one. */
static bool
somebody_waits(struct test_api *a)
{
	char n[8] = "";

	test_sql(&a->store,
	         "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name "
	         "= current_schema() AND wait_event_type = 'Lock'",
	         n, sizeof(n));
	return strcmp(n, "0") != 0;
}

/* Two transactions each wait for a row that the other has locked. The database
 * aborts the request's transaction, which has waited longer. With SQLite one
 * waits for the other. */
TEST(a_request_that_the_database_aborts_is_run_again)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_SERVICE struct service v = {0};
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];
	int fd;

	test_profile(&a, id);
	ck_assert_int_eq(service_get(&a.store.s, TEST_TENANT, TEST_SERVICE, &v),
	                 0);
	ck_assert_int_eq(store_begin(&a.store.s), 0);
	ck_assert_int_eq(session_pin(&a.store.s, TEST_TENANT, id, true), 0);
	fd = ask_begin(&a,
	               (struct ask){.key = KEY_ADMIN,
	                            .method = "DELETE",
	                            .path = "/api/v1/services/" TEST_SERVICE});
	while (test_on_server() && !somebody_waits(&a))
		;
	ck_assert_int_eq(service_replace(&a.store.s, &v), 0);
	ck_assert_int_eq(store_commit(&a.store.s), 0);
	r = ask_end(fd);
	ck_assert_msg(r.status == 204, "%s", buf_str(&r.body));
}
END

TEST(metrics_count_over_the_pool_and_outlive_its_processes)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (int i = 0; i < 10; i++)
		assert_healthy(&a);
	for (int i = 0; i < 2; i++)
		test_api_restart(&a, i);
	r = ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	ck_assert_int_eq(r.status, 200);
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body),
	                             "stoker_http_requests_total{method="
	                             "\"GET\",route=\"/healthz\",status="
	                             "\"2xx\"} 10\n"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&r.body), "stoker_http_in_flight 1\n"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&r.body), "stoker_workers_alive 1\n"));
}
END

SUITE("pool", .seconds = 60);
