#include "lib/fcgi_client.h"

#include "base/file.h"
#include "lib/test.h"

#include <errno.h>
#include <fastcgi.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MAX_RECORD 65535

int
client_connect(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -errno;
	}
	return fd;
}

static void
add_record(struct buf *b, unsigned char type, const void *p, size_t n)
{
	const unsigned char head[FCGI_HEADER_LEN] = {
		FCGI_VERSION_1,   type, 0, 1, (unsigned char)(n >> 8),
		(unsigned char)n,
	};

	buf_add(b, head, sizeof(head));
	buf_add(b, p, n);
}

static void
add_stream(struct buf *b, unsigned char type, const char *p, size_t n)
{
	while (n) {
		size_t part = n < MAX_RECORD ? n : MAX_RECORD;

		add_record(b, type, p, part);
		p += part;
		n -= part;
	}
	add_record(b, type, "", 0);
}

static void
add_length(struct buf *b, size_t n)
{
	buf_putc(b, (char)(0x80 | n >> 24));
	buf_putc(b, (char)(n >> 16));
	buf_putc(b, (char)(n >> 8));
	buf_putc(b, (char)n);
}

static void
add_request(struct buf *b, const struct client_param *params, const char *body,
            size_t n)
{
	static const char begin[8] = {0, FCGI_RESPONDER};
	CLEANUP_BUF struct buf p = BUF_INIT(BUF_MAX_REPLY);

	for (; params->name; params++) {
		add_length(&p, strlen(params->name));
		add_length(&p, strlen(params->value));
		buf_puts(&p, params->name);
		buf_puts(&p, params->value);
	}
	add_record(b, FCGI_BEGIN_REQUEST, begin, sizeof(begin));
	add_stream(b, FCGI_PARAMS, p.p, p.len);
	add_stream(b, FCGI_STDIN, body, n);
	ck_assert_int_eq(buf_err(b), 0);
}

void
client_send(int fd, const struct client_param *params, const char *body,
            size_t n)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);

	add_request(&b, params, body, n);
	ck_assert_int_eq(fd_write_all(fd, b.p, b.len), 0);
}

void
client_send_part(int fd, const struct client_param *params, size_t n)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);

	add_request(&b, params, "", 0);
	ck_assert_uint_le(n, b.len);
	ck_assert_int_eq(fd_write_all(fd, b.p, n), 0);
}

/* Appends the stdout stream of the records; returns true if the request has
 * ended. */
static bool
read_records(const struct buf *in, struct buf *out)
{
	size_t at = 0;

	while (at + FCGI_HEADER_LEN <= in->len) {
		const unsigned char *h = (unsigned char *)in->p + at;
		size_t n = (size_t)h[4] << 8 | h[5];

		at += FCGI_HEADER_LEN;
		if (h[1] == FCGI_END_REQUEST)
			return true;
		if (at + n > in->len)
			return false;
		if (h[1] == FCGI_STDOUT)
			buf_add(out, in->p + at, n);
		at += n + h[6];
	}
	return false;
}

void
client_receive(int fd, struct client_reply *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	const char *end;

	*out = (struct client_reply){
		.head = BUF_INIT(BUF_MAX_SMALL),
		.body = BUF_INIT(BUF_MAX_REPLY),
	};
	ck_assert_int_eq(fd_read_all(fd, &raw), 0);
	ck_assert_msg(read_records(&raw, &text), "no whole reply");
	end = strstr(buf_str(&text), "\r\n\r\n");
	ck_assert_ptr_nonnull(end);
	end += 4;
	buf_add(&out->head, text.p, (size_t)(end - text.p));
	buf_add(&out->body, end, text.len - (size_t)(end - text.p));
	ck_assert_int_eq(sscanf(out->head.p, "Status: %d", &out->status), 1);
	out->json = json_loadb(buf_str(&out->body), out->body.len, 0, NULL);
	ck_assert_msg(!out->json || out->body.p[out->body.len - 1] == '\n',
	              "JSON without an end of line");
}

void
client_reply_done(struct client_reply *r)
{
	buf_done(&r->head);
	buf_done(&r->body);
	json_decref(r->json);
	r->json = NULL;
}

const char *
client_header(const struct client_reply *r, const char *name)
{
	static char value[2048];
	size_t n = strlen(name);
	const char *at = r->head.p;

	for (; at && *at; at = strchr(at, '\n') + 1) {
		if (strncasecmp(at, name, n) || at[n] != ':')
			continue;
		snprintf(value, sizeof(value), "%.*s",
		         (int)strcspn(at + n + 2, "\r\n"), at + n + 2);
		return value;
	}
	return NULL;
}
