/* The HTTP requests of the command line. The test is the server, and answers
 * while the call waits. */
#include "base/file.h"
#include "cli/http.h"
#include "lib/listener.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";

struct server {
	int listens, talks;
	char url[64];
	char heard[4096];
	size_t n;
};
#define CLEANUP_SERVER CLEANUP(server_done)

static void
server_done(struct server *s)
{
	close_ptr(&s->talks);
	close_ptr(&s->listens);
}

static void
server_start(struct server *s)
{
	uint16_t port;

	*s = (struct server){.talks = -1};
	s->listens = listener_open(&port);
	ck_assert_int_eq(fcntl(s->listens, F_SETFL, O_NONBLOCK), 0);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/", port);
}

/* Reads what has arrived, and answers once the request is complete. */
static void
server_step(void *arg)
{
	struct server *s = arg;
	ssize_t got;

	if (s->talks < 0)
		s->talks = accept4(s->listens, NULL, NULL, SOCK_NONBLOCK);
	got = s->talks < 0 ? -1
	                   : recv(s->talks, s->heard + s->n,
	                          sizeof(s->heard) - 1 - s->n, 0);
	if (got <= 0)
		return;
	s->n += (size_t)got;
	if (strstr(s->heard, "\r\n\r\n"))
		ck_assert_int_eq(send(s->talks, answer, strlen(answer), 0),
		                 strlen(answer));
}

static const struct {
	const char *token, *tenant;
	const char *says, *says_not;
} calls[] = {
	{NULL, NULL, "GET /api/v1/services HTTP", "X-Tenant-ID"},
	{NULL, "a", "\r\nX-Tenant-ID: a\r\n", "Authorization"},
	{"stk_1", NULL, "\r\nAuthorization: Bearer stk_1\r\n", "X-Tenant-ID"},
};

TEST(a_call_names_a_key_and_a_tenant_only_where_they_were_given)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		CLEANUP_SERVER struct server s;
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct http_reply out = REPLY_INIT;
		CLEANUP(http_done)
		struct http h = {
			.token = calls[i].token ? strdup(calls[i].token) : NULL,
			.tenant = calls[i].tenant,
			.tick = server_step,
			.tick_arg = &s,
		};

		server_start(&s);
		h.server = s.url;
		ck_assert_msg(!http_call(&h, "GET", "/api/v1/services", NULL,
		                         &out, &why),
		              "%s", buf_str(&why));
		ck_assert_int_eq(out.status, 204);
		ck_assert_msg(strstr(s.heard, calls[i].says) != NULL, "%s",
		              s.heard);
		ck_assert_msg(!strstr(s.heard, calls[i].says_not), "%s",
		              s.heard);
	}
}
END

SUITE("cli_http");
