#include "lib/object_store.h"

#include "base/clock.h"
#include "lib/listener.h"
#include "lib/sigv4.h"
#include "lib/test.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS_MAX 2048
#define HEAD_MAX    8192
#define BODY_MAX    ((size_t)8 << 20)
#define PAGE        7 /* objects on a page: few, so that lists have several */
#define TRICKLE_MS  20
#define STOLEN      "/stolen" /* no client goes there without a redirect */

struct object {
	char key[256];
	char *p;
	size_t n;
	int64_t at_ms;
};

struct objects {
	pthread_mutex_t lock;
	int refs; /* threads plus the test */
	int listener, connections, requests;
	uint16_t port;
	enum objects_mood mood, spoils;
	int spoil_in; /* requests until one is answered in the mood */
	int64_t passed_ms;
	struct object items[OBJECTS_MAX];
	size_t n;
	char refused[128];
	char endpoint[64], key_file[256];
};

struct connection {
	struct objects *o;
	int fd;
	enum objects_mood mood; /* mood of this request */
	char head[HEAD_MAX];
	char *body;
	struct sigv4_request r;
};

static void
unref(struct objects *o)
{
	bool last;

	pthread_mutex_lock(&o->lock);
	last = !--o->refs;
	pthread_mutex_unlock(&o->lock);
	if (!last)
		return;
	for (size_t i = 0; i < o->n; i++)
		free(o->items[i].p);
	free(o);
}

static int64_t
now_ms(const struct objects *o)
{
	return clock_wall_ms() + o->passed_ms;
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct object *)a)->key,
	              ((const struct object *)b)->key);
}

static struct object *
find(struct objects *o, const char *key)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->items[i].key, key))
			return &o->items[i];
	return NULL;
}

static void
keep(struct objects *o, const char *key, const char *p, size_t n)
{
	struct object *x = find(o, key);

	if (!x) {
		x = &o->items[o->n++];
		ck_assert_uint_le(o->n, OBJECTS_MAX);
	}
	free(x->p);
	x->p = malloc(n + 1);
	memcpy(x->p, p, n);
	x->n = n;
	x->at_ms = now_ms(o);
	snprintf(x->key, sizeof(x->key), "%s", key);
	qsort(o->items, o->n, sizeof(*o->items), by_key);
}

/* --- reading a request ---------------------------------------------------- */

/* Splits the head in place; returns false if it is malformed. */
static bool
parse(struct connection *c)
{
	char *save = NULL, *line = strtok_r(c->head, "\r\n", &save), *query;
	struct sigv4_request *r = &c->r;

	*r = (struct sigv4_request){0};
	r->method = line;
	r->path = strchr(line, ' ');
	if (!r->path)
		return false;
	*r->path++ = '\0';
	r->path[strcspn(r->path, " ")] = '\0';
	query = strchr(r->path, '?');
	r->query = query ? query + 1 : r->path + strlen(r->path);
	if (query)
		*query = '\0';
	while ((line = strtok_r(NULL, "\r\n", &save)) &&
	       r->nheaders < SIGV4_HEADERS) {
		char *colon = strchr(line, ':');

		if (!colon)
			return false;
		*colon = '\0';
		for (char *p = line; *p; p++)
			*p = (char)tolower(*p);
		r->headers[r->nheaders].name = line;
		r->headers[r->nheaders++].value = colon + 1 +
		                                  strspn(colon + 1, " ");
	}
	return true;
}

/* Reads head and body; returns false at the end of the connection. */
static bool
receive(struct connection *c)
{
	size_t n = 0, length = 0, have;
	char *end = NULL;
	const char *said;

	while (!end) {
		ssize_t got = read(c->fd, c->head + n, HEAD_MAX - 1 - n);

		if (got <= 0)
			return false;
		n += (size_t)got;
		c->head[n] = '\0';
		end = memmem(c->head, n, "\r\n\r\n", 4);
	}
	end += 4;
	have = n - (size_t)(end - c->head);
	memcpy(c->body, end, have);
	end[-2] = '\0';
	if (!parse(c))
		return false;
	said = sigv4_header(&c->r, "content-length");
	length = said ? (size_t)atoll(said) : 0;
	if (length > BODY_MAX)
		return false;
	if (sigv4_header(&c->r, "expect"))
		listener_send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	while (have < length) {
		ssize_t got = read(c->fd, c->body + have, length - have);

		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	c->r.body = c->body;
	c->r.nbody = length;
	return true;
}

/* --- answers -------------------------------------------------------------- */

/* Sends a byte from time to time, until the client leaves. */
static void
trickle(int fd, const char *p, size_t n)
{
	struct pollfd left = {.fd = fd, .events = POLLRDHUP};

	for (size_t i = 0; i < n && !poll(&left, 1, TRICKLE_MS); i++)
		listener_send(fd, p + i, 1);
}

/* Returns the length of a body of n bytes, as the answer gives it. */
static size_t
length_of_body(const struct connection *c, size_t n)
{
	return c->mood == OBJECTS_SHORT  ? n / 2
	       : c->mood == OBJECTS_LONG ? n * 2
	                                 : n;
}

/* Appends a body in the mood of the request. */
static void
put_body(const struct connection *c, const char *p, size_t n, struct buf *out)
{
	bool half = c->mood == OBJECTS_STALL || c->mood == OBJECTS_CUT;

	if (c->mood == OBJECTS_OTHER)
		for (size_t i = 0; i < n; i++)
			buf_putc(out, 'x');
	else
		buf_add(out, p, half || c->mood == OBJECTS_SHORT ? n / 2 : n);
	if (c->mood == OBJECTS_LONG)
		buf_add(out, p, n);
}

static void
answer(struct connection *c, const char *status, const char *more,
       const void *p, size_t n)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BODY_MAX + HEAD_MAX);
	time_t t = (time_t)(now_ms(c->o) / MS_PER_S);
	char date[64];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	buf_addf(&out,
	         "HTTP/1.1 %s\r\nDate: %s\r\nContent-Length: %zu\r\n%s%s\r\n",
	         status, date, length_of_body(c, n), more,
	         c->mood == OBJECTS_TAG ? "ETag: \"0\"\r\n" : "");
	put_body(c, p, n, &out);
	if (c->mood == OBJECTS_TRICKLE)
		trickle(c->fd, out.p, out.len);
	else
		listener_send(c->fd, out.p, out.len);
	if (c->mood == OBJECTS_CUT)
		shutdown(c->fd, SHUT_RDWR);
}

static void
answer_text(struct connection *c, const char *status, const char *text)
{
	answer(c, status, "", text, strlen(text));
}

static void
get_object(struct connection *c, const struct object *x)
{
	const char *range = sigv4_header(&c->r, "range");
	long long from, to;
	char head[128];

	if (!x) {
		answer_text(c, "404 Not Found", "<Code>NoSuchKey</Code>");
	} else if (!range || c->mood == OBJECTS_IGNORE_RANGE) {
		answer(c, "200 OK", "", x->p, x->n);
	} else if (sscanf(range, "bytes=%lld-%lld", &from, &to) != 2 ||
	           from >= (long long)x->n) {
		answer_text(c, "416 Range Not Satisfiable",
		            "<Code>InvalidRange</Code>");
	} else {
		if (to >= (long long)x->n)
			to = (long long)x->n - 1;
		snprintf(head, sizeof(head),
		         "Content-Range: bytes %lld-%lld/%zu\r\n", from, to,
		         x->n);
		answer(c, "206 Partial Content", head, x->p + from,
		       (size_t)(to - from) + 1);
	}
}

/* Copies the decoded value of a parameter of the query. */
static void
value_of(const char *query, const char *name, char *out, size_t max)
{
	const char *p = strstr(query, name);
	size_t n = 0;
	unsigned byte;

	p = p ? p + strlen(name) : "";
	for (; *p && *p != '&' && n < max - 1; p++)
		if (*p == '%' && sscanf(p + 1, "%2x", &byte) == 1) {
			out[n++] = (char)byte;
			p += 2;
		} else {
			out[n++] = *p;
		}
	out[n] = '\0';
}

/* Appends a page of objects that do not exist, with names that no page had. */
static void
put_new(struct objects *o, struct buf *out)
{
	for (int i = 0; i < PAGE; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%08x",
		         (unsigned)(o->requests * PAGE + i));
		for (char *p = name; *p; p++)
			*p = (char)('a' +
			            (*p <= '9' ? *p - '0' : *p - 'a' + 10));
		buf_addf(out,
		         "<Contents><Key>one/aa/blob-aa%s.pb.gz</Key>"
		         "<LastModified>2020-01-01T00:00:00Z</LastModified>"
		         "</Contents>",
		         name);
	}
}

static void
list(struct connection *c)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BODY_MAX);
	struct objects *o = c->o;
	char prefix[256], after[256], time[RFC3339_LEN];
	int n = 0;
	bool more = c->mood == OBJECTS_CIRCLE || c->mood == OBJECTS_ENDLESS;

	value_of(c->r.query, "prefix=", prefix, sizeof(prefix));
	value_of(c->r.query, "start-after=", after, sizeof(after));
	if (c->mood == OBJECTS_CIRCLE)
		*after = '\0';
	buf_puts(&out, "<ListBucketResult>");
	if (c->mood == OBJECTS_ENDLESS)
		put_new(o, &out);
	for (size_t i = 0; i < o->n && c->mood != OBJECTS_ENDLESS; i++) {
		const struct object *x = &o->items[i];

		if (strncmp(x->key, prefix, strlen(prefix)) != 0 ||
		    strcmp(x->key, after) <= 0)
			continue;
		if (n++ == PAGE) {
			more = true;
			break;
		}
		clock_format(x->at_ms, time);
		buf_addf(&out,
		         "<Contents><Key>%s</Key><LastModified>%s"
		         "</LastModified><Size>%zu</Size></Contents>",
		         x->key, time, x->n);
	}
	buf_addf(&out, "<IsTruncated>%s</IsTruncated></ListBucketResult>",
	         more ? "true" : "false");
	answer(c, "200 OK", "Content-Type: application/xml\r\n", out.p,
	       out.len);
}

static void
drop(struct objects *o, struct object *x)
{
	if (!x)
		return;
	free(x->p);
	*x = o->items[--o->n];
	o->items[o->n] = (struct object){0};
	qsort(o->items, o->n, sizeof(*o->items), by_key);
}

/* Sends a text, and then another one over and over. */
static void
flood(struct connection *c, const char *head, const char *p, size_t n)
{
	listener_send(c->fd, head, strlen(head));
	while (send(c->fd, p, n, MSG_NOSIGNAL) > 0)
		;
}
#define FLOOD(c, head, text) flood(c, head, text, sizeof(text) - 1)

/* Answers according to the mood; returns false if the request is to be served
 * normally. */
static bool
misbehave(struct connection *c)
{
	static const char zeros[4096];
	char line[128], rest;

	switch (c->mood) {
	case OBJECTS_CLOSE:
		shutdown(c->fd, SHUT_RDWR);
		return true;
	case OBJECTS_FAIL:
		answer_text(c, "500 Oops", "<Code>InternalError</Code>");
		return true;
	case OBJECTS_REDIRECT:
		snprintf(line, sizeof(line),
		         "Location: http://127.0.0.1:%d" STOLEN "\r\n",
		         c->o->port);
		answer(c, "307 Temporary Redirect", line, "", 0);
		return true;
	case OBJECTS_HEADERS:
		FLOOD(c, "HTTP/1.1 200 OK\r\n", "X-More: more of this\r\n");
		return true;
	case OBJECTS_HEADER:
		FLOOD(c, "HTTP/1.1 200 OK\r\nX-More: ", "more of this");
		return true;
	case OBJECTS_CONTINUE:
		FLOOD(c, "", "HTTP/1.1 100 Continue\r\n\r\n");
		return true;
	case OBJECTS_HANG:
		while (read(c->fd, &rest, 1) > 0)
			;
		return true;
	case OBJECTS_REFUSE:
		answer_text(c, "503 Slow Down", "<Code>SlowDown</Code>");
		return true;
	case OBJECTS_FORBID:
		answer_text(c, "403 Forbidden", "<Code>AccessDenied</Code>");
		return true;
	case OBJECTS_NO_BUCKET:
		answer_text(c, "404 Not Found", "<Code>NoSuchBucket</Code>");
		return true;
	case OBJECTS_FLOOD:
		flood(c,
		      "HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
		      zeros, sizeof(zeros));
		return true;
	case OBJECTS_BABBLE:
		listener_send(c->fd, "hello\r\n\r\n", 9);
		shutdown(c->fd, SHUT_RDWR);
		return true;
	default:
		return false;
	}
}

static void
serve_object(struct connection *c, const char *key)
{
	struct objects *o = c->o;

	if (!strcmp(c->r.method, "PUT")) {
		keep(o, key, c->r.body, c->r.nbody);
		answer_text(c, "200 OK", "");
	} else if (!strcmp(c->r.method, "DELETE")) {
		drop(o, find(o, key));
		answer(c, "204 No Content", "", "", 0);
	} else {
		get_object(c, find(o, key));
	}
}

static void
serve(struct connection *c)
{
	static const char bucket[] = "/" OBJECTS_BUCKET;
	const char *why, *path = c->r.path;
	struct objects *o = c->o;

	why = sigv4_refuses(&c->r, OBJECTS_KEY, OBJECTS_SECRET);
	pthread_mutex_lock(&o->lock);
	o->requests++;
	if (!strcmp(path, STOLEN))
		snprintf(o->refused, sizeof(o->refused), "followed");
	if (why) {
		snprintf(o->refused, sizeof(o->refused), "%s", why);
		answer_text(c, "403 Forbidden",
		            "<Code>SignatureDoesNotMatch</Code>");
	} else if (strncmp(path, bucket, sizeof(bucket) - 1) != 0) {
		answer_text(c, "404 Not Found", "<Code>NoSuchBucket</Code>");
	} else if (!path[sizeof(bucket) - 1]) {
		list(c);
	} else {
		serve_object(c, path + sizeof(bucket));
	}
	pthread_mutex_unlock(&o->lock);
}

static enum objects_mood
next_mood(struct objects *o)
{
	enum objects_mood mood;

	pthread_mutex_lock(&o->lock);
	mood = o->spoil_in > 0 && !--o->spoil_in ? o->spoils : o->mood;
	pthread_mutex_unlock(&o->lock);
	return mood;
}

static void *
run_connection(void *arg)
{
	struct connection *c = arg;

	c->body = malloc(BODY_MAX + HEAD_MAX);
	while (receive(c)) {
		c->mood = next_mood(c->o);
		if (!misbehave(c))
			serve(c);
	}
	close(c->fd);
	unref(c->o);
	free(c->body);
	free(c);
	return NULL;
}

static void *
run(void *arg)
{
	struct objects *o = arg;
	int fd;

	while ((fd = accept4(o->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct connection *c = calloc(1, sizeof(*c));
		pthread_t thread;

		c->o = o;
		c->fd = fd;
		pthread_mutex_lock(&o->lock);
		o->refs++;
		o->connections++;
		pthread_mutex_unlock(&o->lock);
		ck_assert_int_eq(
			pthread_create(&thread, NULL, run_connection, c), 0);
		pthread_detach(thread);
	}
	unref(o);
	return NULL;
}

/* --- functions for tests -------------------------------------------------- */

struct objects *
objects_start(void)
{
	struct objects *o = calloc(1, sizeof(*o));
	pthread_t thread;

	pthread_mutex_init(&o->lock, NULL);
	o->refs = 2;
	o->listener = listener_open(&o->port);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, o), 0);
	pthread_detach(thread);
	return o;
}

void
objects_stop(struct objects *o)
{
	shutdown(o->listener, SHUT_RDWR);
	close(o->listener);
	unref(o);
}

void
objects_mood(struct objects *o, enum objects_mood mood)
{
	pthread_mutex_lock(&o->lock);
	o->mood = mood;
	o->spoil_in = 0;
	pthread_mutex_unlock(&o->lock);
}

void
objects_spoil(struct objects *o, enum objects_mood mood, int n)
{
	pthread_mutex_lock(&o->lock);
	o->mood = OBJECTS_FINE;
	o->spoils = mood;
	o->spoil_in = n;
	pthread_mutex_unlock(&o->lock);
}

bool
objects_spoiled(struct objects *o)
{
	bool spoiled;

	pthread_mutex_lock(&o->lock);
	spoiled = !o->spoil_in;
	pthread_mutex_unlock(&o->lock);
	return spoiled;
}

void
objects_pass(struct objects *o, int64_t seconds)
{
	pthread_mutex_lock(&o->lock);
	o->passed_ms += seconds * MS_PER_S;
	pthread_mutex_unlock(&o->lock);
}

void
objects_plant(struct objects *o, const char *key, const char *text)
{
	pthread_mutex_lock(&o->lock);
	keep(o, key, text, strlen(text));
	pthread_mutex_unlock(&o->lock);
}

size_t
objects_count(struct objects *o)
{
	size_t n;

	pthread_mutex_lock(&o->lock);
	n = o->n;
	pthread_mutex_unlock(&o->lock);
	return n;
}

const char *
objects_refused(struct objects *o)
{
	return o->refused;
}

int
objects_requests(struct objects *o)
{
	int n;

	pthread_mutex_lock(&o->lock);
	n = o->requests;
	pthread_mutex_unlock(&o->lock);
	return n;
}

int
objects_connections(struct objects *o)
{
	return o->connections;
}

uint16_t
objects_port(const struct objects *o)
{
	return o->port;
}

void
objects_conf(struct objects *o, const char *dir, struct conf *out)
{
	int fd;

	snprintf(o->endpoint, sizeof(o->endpoint), "http://127.0.0.1:%d",
	         o->port);
	snprintf(o->key_file, sizeof(o->key_file), "%s/s3.key", dir);
	fd = open(o->key_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	ck_assert_int_ge(fd, 0);
	dprintf(fd, "%s:%s\n", OBJECTS_KEY, OBJECTS_SECRET);
	close(fd);
	*out = (struct conf){
		.store_bytes = (char *)"s3",
		.s3_endpoint = o->endpoint,
		.s3_bucket = (char *)OBJECTS_BUCKET,
		.s3_prefix = (char *)"one/",
		.s3_region = (char *)"us-east-1",
		.s3_key_file = o->key_file,
		.s3_ca_file = (char *)"/etc/ssl/certs/ca-certificates.crt",
		.s3_timeout = 10,
	};
}
