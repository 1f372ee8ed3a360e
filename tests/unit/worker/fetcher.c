/*
 * The fetcher in its own process and sandbox, against a server that misbehaves;
 * and which hosts it may reach.
 */
#include "worker/fetcher/fetcher.h"
#include "worker/fetcher/fetcher_transfer.h"

#include "base/buf.h"
#include "base/file.h"
#include "lib/http_server.h"
#include "lib/listener.h"
#include "lib/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct rig {
	struct conf conf;
	struct http_server server;
	pid_t fetcher;
	int socket, alive;
};
#define CLEANUP_RIG CLEANUP(rig_done)

#define OK        "HTTP/1.1 200 OK\r\n"
#define BIG       8192
#define MAX_BYTES 4096
static char big[64 + BIG];

static const struct canned pages[] = {
	{"/whole", OK "Content-Length: 5\r\nContent-Type: text/x\r\n\r\nhello",
         .hangs = 0},
	{"/chunked",
         OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         .hangs = 0},
	{"/close", OK "\r\nhello", .hangs = 0},
	{"/refused",
         "HTTP/1.1 500 No\r\nX-Go-Pprof: 1\r\nContent-Length: 2\r\n\r\nno",
         .hangs = 0},
	{"/moved",
         "HTTP/1.1 302 Found\r\nLocation: /whole\r\nContent-Length: 0\r\n\r\n",
         .hangs = 0},
	{"/cut", OK "Content-Length: 50\r\n\r\nhello", .hangs = 0},
	{"/cutchunk", OK "Transfer-Encoding: chunked\r\n\r\n50\r\nhello",
         .hangs = 0},
	{"/nothing", "", .hangs = 0},
	{"/told", OK "Content-Length: 100000\r\n\r\n", .hangs = 1},
	{"/big", big, .n = sizeof(big)},
	{"/slow", OK "Content-Length: 5\r\n\r\nhel", .hangs = 1},
	{"/silent", "", .hangs = 1},
	{"/garbage", "220 mail.example.com ESMTP\r\n", .hangs = 0},
	{"/endless", OK "\r\n", .again = "more and more of this"},
	{"/headers", OK, .again = "X-More: more of this\r\n"},
	{"/header", OK "X-More: ", .again = "more and more of this"},
	{"/heads", "", .again = "HTTP/1.1 100 Continue\r\n\r\n"},
	{"/continues", "", .hangs = 1,
         .again = "HTTP/1.1 100 Continue\r\n\r\n"},
	{"/trickle", OK "Content-Length: 4000\r\n\r\n", .hangs = 1,
         .again = "x"},
};

static void
start_fetcher(struct rig *r)
{
	struct fetch_secrets secrets = {-1, -1, -1, -1};
	int pair[2];

	ck_assert_int_eq(msg_pair(pair), 0);
	r->alive = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ge(r->alive, 0);
	r->fetcher = fork();
	ck_assert_int_ge(r->fetcher, 0);
	if (r->fetcher == 0) {
		close(pair[0]);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		secrets.headers = open(r->conf.collector_header_file, O_RDONLY);
		_exit(fetcher_run(&r->conf, "own", pair[1], r->alive,
		                  &secrets) != -EPIPE);
	}
	close(pair[1]);
	r->socket = pair[0];
}

/* The tenant of ask_for() may name any host, unless config has scopes. */
#define ALL_OF_T "[scope.t]\nendpoints = *\nwebhooks = *\n"

static struct rig
rig(const char *config)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct rig r = {.fetcher = 0};

	memset(big, 'x', sizeof(big));
	memcpy(big, OK "\r\n", strlen(OK) + 2);
	buf_addf(&text, "%s\n%s", config,
	         strstr(config, "[scope.") ? "" : ALL_OF_T);
	ck_assert_msg(!conf_parse("test", buf_str(&text), &r.conf, &why), "%s",
	              buf_str(&why));
	http_server_start(&r.server, pages, ARRAY_LEN(pages));
	start_fetcher(&r);
	return r;
}

/* Closes the fetcher's socket: it ends as it should. */
static void
rig_done(struct rig *r)
{
	int status;

	close(r->socket);
	close(r->alive);
	ck_assert_int_eq(waitpid(r->fetcher, &status, 0), r->fetcher);
	ck_assert_int_eq(status, 0);
	http_server_stop(&r->server);
	conf_done(&r->conf);
}

static struct fetch_ask
ask_for(const struct rig *r, const char *path)
{
	struct fetch_ask a = {.type = MSG_FETCH,
	                      .method = FETCH_GET,
	                      .purpose = FETCH_PPROF,
	                      .connect_ms = 5000,
	                      .total_ms = 20000,
	                      .max_bytes = MAX_BYTES,
	                      .id = 7,
	                      .tenant = "t"};

	snprintf(a.url, sizeof(a.url), "http://127.0.0.1:%d%s", r->server.port,
	         path);
	return a;
}

static int
hear(const struct rig *r, struct fetch_answer *out)
{
	size_t nfds = 1;
	int fd = -1;

	ck_assert_int_eq(msg_recv(r->socket, out, sizeof(*out), &fd, &nfds),
	                 sizeof(*out));
	return nfds ? fd : -1;
}

/* Appends the body or the error's text. */
static void
fetch(const struct rig *r, const struct fetch_ask *ask,
      struct fetch_answer *out, struct buf *body)
{
	CLEANUP_FD int fd = -1;

	ck_assert_int_eq(msg_send(r->socket, ask, sizeof(*ask), NULL, 0), 0);
	fd = hear(r, out);
	ck_assert_uint_eq(out->id, ask->id);
	ck_assert_int_eq(fd >= 0, !out->error);
	buf_clear(body);
	if (fd < 0) {
		buf_puts(body, fetch_error_text(out->error));
		return;
	}
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fd_read_all(fd, body), 0);
	ck_assert_uint_eq(body->len, out->bytes);
}

static const struct {
	const char *path;
	enum fetch_error error;
	uint32_t status;
	const char *body;
} answers[] = {
	{"/whole", FETCH_OK, 200, "hello"},
	{"/chunked", FETCH_OK, 200, "hello"},
	{"/close", FETCH_OK, 200, "hello"},
	{"/refused", FETCH_OK, 500, "no"},
	{"/moved", FETCH_OK, 302, ""},
	{"/cut", FETCH_TRUNCATED, 0, NULL},
	{"/cutchunk", FETCH_TRUNCATED, 0, NULL},
	{"/nothing", FETCH_TRUNCATED, 0, NULL},
	{"/told", FETCH_TOO_LARGE, 0, NULL},
	{"/big", FETCH_TOO_LARGE, 0, NULL},
	{"/garbage", FETCH_PROTOCOL, 0, NULL},
	{"/endless", FETCH_TOO_LARGE, 0, NULL},
	{"/headers", FETCH_HEADERS, 0, NULL},
	{"/header", FETCH_HEADERS, 0, NULL},
	{"/heads", FETCH_HEADERS, 0, NULL},
};

TEST(answers_are_told_whole_or_not_at_all)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct fetch_ask a = ask_for(&r, answers[i].path);
		struct fetch_answer got;

		fetch(&r, &a, &got, &body);
		ck_assert_msg(got.error == answers[i].error, "%s: %s", a.url,
		              buf_str(&body));
		if (got.error)
			continue;
		ck_assert_uint_eq(got.status, answers[i].status);
		ck_assert_str_eq(buf_str(&body), answers[i].body);
	}
}
END

TEST(a_body_of_exactly_the_limit_is_taken)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/big");
	struct fetch_answer got;

	a.max_bytes = sizeof(big) - strlen(OK) - 2;
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_OK);
	a.max_bytes--;
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_TOO_LARGE);
}
END

TEST(a_file_that_came_along_gets_the_body)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/whole");
	struct fetch_answer got;
	FILE *f = tmpfile();
	int fd = fileno(f);

	ck_assert_int_eq(msg_send(r.socket, &a, sizeof(a), &fd, 1), 0);
	close(hear(&r, &got));
	ck_assert_uint_eq(got.error, FETCH_OK);
	ck_assert_uint_eq(got.bytes, 5);
	rewind(f);
	ck_assert_int_eq(fd_read_all(fd, &body), 0);
	ck_assert_str_eq(buf_str(&body), "hello");
	fclose(f);
}
END

TEST(a_debuginfod_server_is_asked_for_its_files_only)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r =
		rig("[symbols]\ndebuginfod = http://localhost:1\n");
	struct fetch_ask a = ask_for(&r, "/whole");
	struct fetch_answer got;

	a.purpose = FETCH_DEBUGINFOD;
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_HOST);
	strcpy(a.url, "http://localhost:1/buildid/abcd/debuginfo");
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_CONNECT);
	a.purpose = FETCH_PURPOSES;
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_HOST);
}
END

static const struct {
	enum fetch_purpose purpose;
	const char *config; /* allows this purpose alone */
} lists[] = {
	{FETCH_PPROF, "[fetch]\nallow = localhost\n"
                      "[webhook]\nallow = hooks.test\n"},
	{FETCH_WEBHOOK, "[fetch]\nallow = pages.test\n"
                        "[webhook]\nallow = localhost\n"},
};

TEST(pages_and_webhooks_have_a_list_of_hosts_each)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		CLEANUP_RIG struct rig r = rig(lists[i].config);
		struct fetch_ask a = ask_for(&r, "/whole");
		struct fetch_answer got;

		strcpy(a.url, "http://localhost:1/");
		a.purpose = lists[i].purpose;
		fetch(&r, &a, &got, &body);
		ck_assert_uint_eq(got.error, FETCH_CONNECT);
		a.purpose = lists[!i].purpose;
		fetch(&r, &a, &got, &body);
		ck_assert_uint_eq(got.error, FETCH_HOST);
	}
}
END

TEST(headers_that_matter_are_told)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/refused");
	struct fetch_answer got;

	fetch(&r, &a, &got, &body);
	ck_assert_str_eq(got.go_pprof, "1");
	a = ask_for(&r, "/whole");
	fetch(&r, &a, &got, &body);
	ck_assert_str_eq(got.content_type, "text/x");
	ck_assert_str_eq(got.go_pprof, "");
}
END

TEST(what_takes_too_long_is_given_up)
{
	NEEDS_SANDBOX();
	static const char *const paths[] = {"/slow", "/silent", "/continues",
	                                    "/trickle"};
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct fetch_ask a = ask_for(&r, paths[i]);
		struct fetch_answer got;
		char line[64];

		a.total_ms = 100;
		fetch(&r, &a, &got, &body);
		ck_assert_uint_eq(got.error, FETCH_TIMEOUT);
		http_server_line(&r.server, line, sizeof(line));
		ck_assert_str_eq(line, paths[i]);
		http_server_line(&r.server, line, sizeof(line));
		ck_assert_str_eq(line, "gone");
	}
}
END

TEST(a_server_that_never_answers_by_tls_is_given_up)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	uint16_t port;
	CLEANUP_FD int server = listener_open(&port);
	struct fetch_ask a = ask_for(&r, "");
	struct fetch_answer got;

	snprintf(a.url, sizeof(a.url), "https://127.0.0.1:%u/", port);
	a.connect_ms = 100;
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_TIMEOUT);
}
END

TEST(cancelling_closes_the_connection_and_says_nothing)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/silent");
	struct fetch_cancel c = {MSG_FETCH_CANCEL, 0, a.id};
	struct fetch_answer got;
	char line[64];

	ck_assert_int_eq(msg_send(r.socket, &a, sizeof(a), NULL, 0), 0);
	http_server_line(&r.server, line, sizeof(line)); /* it has begun */
	ck_assert_int_eq(msg_send(r.socket, &c, sizeof(c), NULL, 0), 0);
	http_server_line(&r.server, line, sizeof(line));
	ck_assert_str_eq(line, "gone");
	a = ask_for(&r, "/whole");
	a.id = 8; /* the next answer belongs to the next question */
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_OK);
}
END

TEST(no_more_run_at_once_than_there_is_room_for)
{
	NEEDS_SANDBOX();
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/silent");
	struct fetch_answer got;

	for (a.id = 0; a.id <= FETCH_MAX; a.id++)
		ck_assert_int_eq(msg_send(r.socket, &a, sizeof(a), NULL, 0), 0);
	ck_assert_int_eq(hear(&r, &got), -1);
	ck_assert_uint_eq(got.id, FETCH_MAX);
	ck_assert_uint_eq(got.error, FETCH_BUSY);
}
END

TEST(a_server_is_offered_the_version_of_http_that_answers_are_read_in)
{
	NEEDS_SANDBOX();
	static const char both[] = "\2h2\10http/1.1"; /* of RFC 7301 */
	CLEANUP_RIG struct rig r = rig("");
	uint16_t port;
	CLEANUP_FD int server = listener_open(&port);
	CLEANUP_FD int client = -1;
	struct fetch_ask ask = ask_for(&r, "");
	struct fetch_answer answer;
	char hello[4096];
	ssize_t n;

	snprintf(ask.url, sizeof(ask.url), "https://127.0.0.1:%u/", port);
	ck_assert_int_eq(msg_send(r.socket, &ask, sizeof(ask), NULL, 0), 0);
	client = accept(server, NULL, NULL);
	n = read(client, hello, sizeof(hello));
	ck_assert_int_gt(n, 0);
	close_ptr(&client);
	(void)hear(&r, &answer);
	ck_assert_uint_ne(answer.error, FETCH_OK);
	ck_assert_ptr_nonnull(
		memmem(hello, (size_t)n, both + 3, strlen(both + 3)));
	ck_assert_ptr_null(memmem(hello, (size_t)n, both, strlen(both)));
}
END

TEST(a_port_that_nobody_listens_on_is_told_as_such)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/");
	struct fetch_answer got;

	strcpy(a.url, "http://127.0.0.1:1/");
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_CONNECT);
}
END

static const struct {
	const char *config, *url;
	enum fetch_error error;
} hosts[] = {
	{"", "http://example.com/", FETCH_HOST},
	{"", "http://10.0.0.7/", FETCH_HOST},
	{"", "http://user@localhost/", FETCH_URL},
	{"", "file:///etc/passwd", FETCH_URL},
	{"", "ftp://localhost/", FETCH_URL},
	{"[fetch]\nallow =\n", "http://localhost/", FETCH_HOST},
	{"[fetch]\nallow = *\n", "http://169.254.169.254/", FETCH_ADDRESS},
	{"[fetch]\nallow = *\n", "http://0.0.0.0:1/", FETCH_ADDRESS},
	{"[fetch]\nallow = *\n", "http://[fd00:ec2::254]/", FETCH_ADDRESS},
	{"[fetch]\nallow = *\n", "http://[::ffff:169.254.169.254]/",
         FETCH_ADDRESS},
	/* loopback written as numbers that resolvers understand */
	{"[fetch]\nallow = *\n", "http://2130706433:1/", FETCH_ADDRESS},
	{"[fetch]\nallow = *\n", "http://0x7f.1:1/", FETCH_ADDRESS},
};

TEST(hosts_and_addresses_are_those_that_are_allowed)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		CLEANUP_RIG struct rig r = rig(hosts[i].config);
		struct fetch_ask a = ask_for(&r, "/");
		struct fetch_answer got;

		strcpy(a.url, hosts[i].url);
		fetch(&r, &a, &got, &body);
		ck_assert_msg(got.error == hosts[i].error, "%s: %s",
		              hosts[i].url, buf_str(&body));
	}
}
END

/* For each purpose, the host has a list of hosts and the tenant has one. */
TEST(a_tenant_reaches_only_hosts_of_its_scope)
{
	static const struct {
		const char *config;
		enum fetch_purpose purpose;
		enum fetch_error error;
	} rows[] = {
		{"[scope.other]\nendpoints = *\nwebhooks = *\n", FETCH_PPROF,
	         FETCH_HOST},
		{"[scope.t]\nunits = *\n", FETCH_PPROF, FETCH_HOST},
		{"[scope.t]\nendpoints = 10.0.0.7\n", FETCH_PPROF, FETCH_HOST},
		{"[scope.t]\nwebhooks = *\n", FETCH_PPROF, FETCH_HOST},
		{"[scope.t]\nendpoints = localhost\n", FETCH_PPROF, FETCH_OK},
		{"[scope.t]\nwebhooks = *\n", FETCH_WEBHOOK, FETCH_HOST},
		{"[webhook]\nallow = *\n[scope.t]\nendpoints = *\n",
	         FETCH_WEBHOOK, FETCH_HOST},
		{"[webhook]\nallow = localhost\n[scope.t]\nwebhooks = *\n",
	         FETCH_WEBHOOK, FETCH_OK},
		{"[scope.t]\ncollectors = *\n", FETCH_COLLECTOR, FETCH_HOST},
		{"[collector]\nallow = *\n[scope.t]\nwebhooks = *\n",
	         FETCH_COLLECTOR, FETCH_HOST},
		{"[collector]\nallow = localhost\n[scope.t]\ncollectors = *\n",
	         FETCH_COLLECTOR, FETCH_OK},
		/* headers that cannot be read */
		{"[collector]\nallow = *\nheader_file = /nowhere\n"
	         "[scope.t]\ncollectors = *\n",
	         FETCH_COLLECTOR, FETCH_INTERNAL},
		{"[collector]\nheader_file = /nowhere\n[scope.t]\n"
	         "endpoints = *\n",
	         FETCH_PPROF, FETCH_OK},
	};

	NEEDS_SANDBOX();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_RIG struct rig r = rig(rows[i].config);
		struct fetch_ask a = ask_for(&r, "/whole");
		struct fetch_answer got;

		a.purpose = rows[i].purpose;
		fetch(&r, &a, &got, &body);
		ck_assert_msg(got.error == rows[i].error, "%s: %s",
		              rows[i].config, buf_str(&body));
	}
}
END

static const struct {
	const char *address;
	bool alone, local; /* may be reached: without a name; with a name of
	                    * this machine */
} addresses[] = {
	{"127.0.0.1", false, true},
	{"127.255.255.255", false, true},
	{"126.255.255.255", true, true},
	{"128.0.0.0", true, true},
	{"10.1.2.3", true, true},
	{"0.0.0.0", false, false},
	{"0.255.255.255", false, false},
	{"1.0.0.0", true, true},
	{"169.253.255.255", true, true},
	{"169.254.0.0", false, false},
	{"169.254.169.254", false, false},
	{"169.255.0.0", true, true},
	{"223.255.255.255", true, true},
	{"224.0.0.1", false, false},
	{"255.255.255.255", false, false},
	{"100.100.100.200", false, false},
	{"100.100.100.201", true, true},
	{"168.63.129.16", false, false},
	{"::", false, false},
	{"::1", false, true},
	{"fe80::1", false, false},
	{"febf::1", false, false},
	{"fec0::1", false, false},
	{"ff02::1", false, false},
	{"fd00::7", true, true},
	{"fd00:ec2::254", false, false},
	{"2001:db8::1", true, true},
	{"::ffff:127.0.0.1", false, true},
	{"::ffff:169.254.169.254", false, false},
	{"::ffff:10.0.0.1", true, true},
	{"64:ff9b::a9fe:a9fe", false, false},
	{"2002:a9fe:a9fe::1", false, false},
	{"::169.254.169.254", false, false},
};

TEST(addresses_of_metadata_and_of_this_machine_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		const char *text = addresses[i].address;
		struct sockaddr_in v4 = {.sin_family = AF_INET};
		struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
		const struct sockaddr *a = (void *)&v4;
		socklen_t n = sizeof(v4);

		if (inet_pton(AF_INET, text, &v4.sin_addr) != 1) {
			ck_assert_int_eq(
				inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
			a = (void *)&v6;
			n = sizeof(v6);
		}
		ck_assert_msg(fetch_address_ok(a, n, false) ==
		                      addresses[i].alone,
		              "%s", text);
		ck_assert_msg(fetch_address_ok(a, n, true) ==
		                      addresses[i].local,
		              "%s, local", text);
	}
}
END

TEST(other_families_are_refused)
{
	struct sockaddr a = {.sa_family = AF_UNIX};

	ck_assert(!fetch_address_ok(&a, sizeof(a), true));
	a.sa_family = AF_INET;
	ck_assert(!fetch_address_ok(&a, 4, true));
}
END

/* Such messages come from a caller that was taken over. */
TEST(messages_of_other_shapes_are_passed_over)
{
	NEEDS_SANDBOX();
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RIG struct rig r = rig("");
	struct fetch_ask a = ask_for(&r, "/whole");
	struct fetch_answer got;

	ck_assert_int_eq(msg_send(r.socket, &a, 12, NULL, 0), 0);
	memset(a.url, 'x', sizeof(a.url)); /* without an end */
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_URL);
	a = ask_for(&r, "/whole");
	fetch(&r, &a, &got, &body);
	ck_assert_uint_eq(got.error, FETCH_OK);
}
END

TEST(an_idle_fetcher_gives_signs_of_life)
{
	NEEDS_SANDBOX();
	CLEANUP_RIG struct rig r = rig("[worker]\nwatchdog = 1s\n");
	struct pollfd alive = {r.alive, POLLIN, 0};
	eventfd_t n;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(poll(&alive, 1, 60000), 1);
		ck_assert_int_eq(eventfd_read(r.alive, &n), 0);
	}
}
END

SUITE("fetcher");
