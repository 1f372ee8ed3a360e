/* Requests to the object store, signed by libcurl. */
#include "s3_private.h"

#include "base/clock.h"
#include "digest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CONNECT_MS     3000
#define HASH           "x-amz-content-sha256: "
#define MAX_HEADERS    ((size_t)64 << 10)
#define CURL_TOO_LARGE ((CURLcode)100) /* CURLE_TOO_LARGE, from 8.6 on */

/* A request in progress. */
struct ask {
	const struct s3_call *call;
	struct s3_answer *answer;
	CURL *curl;
	size_t sent, came;
	size_t headers; /* bytes of headers received */
	int rc;         /* -errno of the body or the headers */
};

/* --- handles, which keep connections -------------------------------------- */

static CURL *
take_handle(struct s3 *s3)
{
	CURL *c = NULL;

	pthread_mutex_lock(&s3->lock);
	if (s3->nidle)
		c = s3->idle[--s3->nidle];
	pthread_mutex_unlock(&s3->lock);
	return c ? c : curl_easy_init();
}

static void
give_handle(struct s3 *s3, CURL *c)
{
	curl_easy_reset(c);
	pthread_mutex_lock(&s3->lock);
	if (s3->nidle < S3_IDLE_MAX)
		s3->idle[s3->nidle++] = TAKE(c);
	pthread_mutex_unlock(&s3->lock);
	curl_easy_cleanup(c);
}

/* --- callbacks ------------------------------------------------------------ */

static size_t
give_body(char *to, size_t one, size_t n, void *arg)
{
	struct ask *a = arg;
	size_t left = a->call->length - a->sent, most = one * n;

	if (left > most)
		left = most;
	memcpy(to, (const char *)a->call->body + a->sent, left);
	a->sent += left;
	return left;
}

/* libcurl rewinds when a kept connection turns out to be closed. */
static int
go_back(void *arg, curl_off_t at, int origin)
{
	struct ask *a = arg;

	if (origin != SEEK_SET || at < 0 || (size_t)at > a->call->length)
		return CURL_SEEKFUNC_FAIL;
	a->sent = (size_t)at;
	return CURL_SEEKFUNC_OK;
}

static size_t
take_error(struct ask *a, const char *p, size_t n)
{
	struct s3_answer *to = a->answer;
	size_t room = sizeof(to->error) - 1;

	if (a->came < room) {
		size_t part = n < room - a->came ? n : room - a->came;

		memcpy(to->error + a->came, p, part);
	}
	a->came += n;
	return a->came <= 64 * sizeof(to->error) ? n : 0;
}

static size_t
take_body(char *p, size_t one, size_t n, void *arg)
{
	struct ask *a = arg;
	long status = 0;

	n *= one;
	curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 != 2)
		return take_error(a, p, n);
	a->came += n;
	if (a->came > a->call->most) {
		a->answer->too_long = true;
		return 0;
	}
	if (a->call->out)
		buf_add(a->call->out, p, n);
	a->rc = a->call->out ? buf_err(a->call->out) : 0;
	return a->rc ? 0 : n;
}

/* Refuses headers that are too large, or do not end. */
static size_t
take_header(char *p, size_t one, size_t n, void *arg)
{
	struct ask *a = arg;

	(void)p;
	a->headers += one * n;
	if (a->headers <= MAX_HEADERS)
		return one * n;
	a->rc = -EREMOTEIO;
	return 0;
}

/* --- one request ---------------------------------------------------------- */

/* Without TLS, signs the hash of the body; over TLS, nobody can change it. */
static int
hash_header(const struct s3 *s3, const struct s3_call *call, char *out,
            size_t max)
{
	char hash[DIGEST_CHARS] = "UNSIGNED-PAYLOAD";
	int rc = s3->tls ? 0 : digest(call->body ?: "", call->length, hash);

	snprintf(out, max, HASH "%s", hash);
	return rc;
}

static void
set_target(CURL *c, const struct s3 *s3, const struct s3_call *call)
{
	char url[2048];

	if (call->name)
		snprintf(url, sizeof(url), "%s%s", s3->base, call->name);
	else
		snprintf(url, sizeof(url), "%s?%s", s3->bucket, call->query);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, s3->tls ? "https" : "http");
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_CAINFO, s3->ca_file);
	curl_easy_setopt(c, CURLOPT_AWS_SIGV4, s3->sign);
	curl_easy_setopt(c, CURLOPT_USERNAME, s3->key);
	curl_easy_setopt(c, CURLOPT_PASSWORD, s3->secret);
}

static void
set_body(struct ask *a)
{
	CURL *c = a->curl;
	char range[64];

	if (!strcmp(a->call->method, "PUT")) {
		curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE,
		                 (curl_off_t)a->call->length);
		curl_easy_setopt(c, CURLOPT_READFUNCTION, give_body);
		curl_easy_setopt(c, CURLOPT_READDATA, a);
		curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, go_back);
		curl_easy_setopt(c, CURLOPT_SEEKDATA, a);
		curl_easy_setopt(c, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
	} else if (strcmp(a->call->method, "GET") != 0) {
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, a->call->method);
	}
	if (a->call->to >= 0) {
		snprintf(range, sizeof(range), "%lld-%lld",
		         (long long)a->call->from, (long long)a->call->to);
		curl_easy_setopt(c, CURLOPT_RANGE, range);
	}
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, a);
}

/* Sets the time that is left; -ETIMEDOUT if there is none. */
static int
set_time(CURL *c, const struct s3 *s3, const struct store *s)
{
	int64_t ms = s3->timeout_ms;

	if (s->until_ns) {
		int64_t left = (s->until_ns - clock_mono_ns()) / NS_PER_MS;

		ms = left < ms ? left : ms;
	}
	if (ms <= 0)
		return -ETIMEDOUT;
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)ms);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
	                 (long)(ms < CONNECT_MS ? ms : CONNECT_MS));
	return 0;
}

static void
read_headers(CURL *c, struct s3_answer *out)
{
	struct curl_header *h;
	long long from, whole;
	time_t now;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &out->status);
	out->from = out->whole = -1;
	if (!curl_easy_header(c, "Content-Range", 0, CURLH_HEADER, -1, &h) &&
	    sscanf(h->value, "bytes %lld-%*d/%lld", &from, &whole) == 2) {
		out->from = from;
		out->whole = whole;
	}
	if (!curl_easy_header(c, "Date", 0, CURLH_HEADER, -1, &h)) {
		now = curl_getdate(h->value, NULL);
		out->now_ms = now > 0 ? (int64_t)now * MS_PER_S : 0;
	}
}

static int
failure(const struct ask *a, CURLcode code)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_WRITE_ERROR:
		return a->rc ? a->rc : a->answer->too_long ? 0 : -EREMOTEIO;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY: /* it is not HTTP */
	case CURL_TOO_LARGE:
		return -EREMOTEIO;
	case CURLE_OUT_OF_MEMORY: /* before 8.6, also for a header too large */
		return a->headers && !a->came ? -EREMOTEIO : -ENOMEM;
	default:
		return -EHOSTUNREACH;
	}
}

/* Returns the error for a status; 0 for success, and for a status about the
 * object. */
static int
refusal(const struct s3_answer *a)
{
	long s = a->status;

	if (s == 404 && strstr(a->error, "NoSuchBucket"))
		return -EKEYREJECTED;
	if (s / 100 == 2 || s == 404 || s == 416)
		return 0;
	return s == 401 || s == 403       ? -EKEYREJECTED
	       : s == 429 || s / 100 == 5 ? -EHOSTUNREACH
	                                  : -EREMOTEIO;
}

static int
perform(struct s3 *s3, const struct store *s, struct ask *a)
{
	char header[sizeof(HASH) + DIGEST_CHARS];
	struct curl_slist *headers;
	int rc = hash_header(s3, a->call, header, sizeof(header))
	                 ?: set_time(a->curl, s3, s);

	if (rc)
		return rc;
	headers = curl_slist_append(NULL, header);
	if (!headers)
		return -ENOMEM;
	set_target(a->curl, s3, a->call);
	set_body(a);
	curl_easy_setopt(a->curl, CURLOPT_HTTPHEADER, headers);
	rc = failure(a, curl_easy_perform(a->curl));
	if (!rc)
		read_headers(a->curl, a->answer);
	curl_easy_setopt(a->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	return rc ? rc : refusal(a->answer);
}

int
s3_ask(struct s3 *s3, const struct store *s, const struct s3_call *call,
       struct s3_answer *out)
{
	struct ask a = {.call = call, .answer = out, .curl = take_handle(s3)};
	int rc;

	*out = (struct s3_answer){0};
	if (!a.curl)
		return -ENOMEM;
	rc = perform(s3, s, &a);
	give_handle(s3, a.curl);
	return rc;
}
