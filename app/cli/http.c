#include "http.h"

#include "base/version.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 5
/* Long enough for a wait of 20 s in the server, and a reply of many
 * megabytes. */
#define TOTAL_TIMEOUT_S 120

void
http_done(struct http *h)
{
	if (h->curl)
		curl_easy_cleanup(h->curl);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	free(h->token);
	*h = (struct http){0};
}

void
http_reply_done(struct http_reply *r)
{
	buf_done(&r->body);
	json_decref(r->json);
	r->json = NULL;
}

bool
http_is_remote(const char *url)
{
	static const char *const here[] = {"127.", "localhost", "[::1]"};
	const char *host = strstr(url, "://");

	host = host ? host + strlen("://") : url;
	for (size_t i = 0; i < ARRAY_LEN(here); i++)
		if (!strncmp(host, here[i], strlen(here[i])))
			return false;
	return true;
}

void
url_escape(struct buf *out, const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *s; s++) {
		if (strchr(plain, *s))
			buf_putc(out, *s);
		else
			buf_addf(out, "%%%02X", (unsigned char)*s);
	}
}

void
query_add(struct buf *path, const char *key, const char *value)
{
	if (!value)
		return;
	buf_putc(path, strchr(buf_str(path), '?') ? '&' : '?');
	url_escape(path, key);
	buf_putc(path, '=');
	url_escape(path, value);
}

static size_t
on_body(char *p, size_t size, size_t n, void *user)
{
	struct buf *body = user;

	buf_add(body, p, size * n);
	return buf_err(body) ? 0 : size * n;
}

static int
on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct http *h = user;

	(void)a, (void)b, (void)c, (void)d;
	return h->stop && *h->stop;
}

static int
add_header(struct curl_slist **list, const char *name, const char *value)
{
	CLEANUP_BUF struct buf line = BUF_INIT(HTTP_TOKEN_MAX);
	struct curl_slist *longer;

	buf_addf(&line, "%s: %s", name, value);
	if (buf_err(&line))
		return buf_err(&line);
	longer = curl_slist_append(*list, buf_str(&line));
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int
make_headers(const struct http *h, const struct content *body,
             struct curl_slist **out)
{
	CLEANUP_BUF struct buf bearer = BUF_INIT(HTTP_TOKEN_MAX);
	int rc = 0;

	if (h->token) {
		buf_addf(&bearer, "Bearer %s", h->token);
		rc = add_header(out, "Authorization", buf_str(&bearer));
	}
	if (!rc && h->tenant)
		rc = add_header(out, "X-Tenant-ID", h->tenant);
	if (!rc && body)
		rc = add_header(out, "Content-Type", body->type);
	return rc ? rc : buf_err(&bearer);
}

static void
set_up(struct http *h, const char *method, const char *url,
       struct http_reply *out, char why[static CURL_ERROR_SIZE])
{
	CURL *c = h->curl;
	char agent[VERSION_MAX];

	snprintf(agent, sizeof(agent), "stoker/%s", stoker_version);
	curl_easy_reset(c);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	if (h->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, h->ca_file);
	if (h->cert_file) {
		curl_easy_setopt(c, CURLOPT_SSLCERT, h->cert_file);
		curl_easy_setopt(c, CURLOPT_SSLKEY, h->cert_key_file);
	}
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)TOTAL_TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(c, CURLOPT_USERAGENT, agent);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &out->body);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, h);
}

static void
read_headers(CURL *c, struct http_reply *out)
{
	struct curl_header *date;
	curl_off_t after = 0;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &out->status);
	curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &after);
	out->retry_after = (long)after;
	if (!curl_easy_header(c, "Date", 0, CURLH_HEADER, -1, &date))
		out->date_s = curl_getdate(date->value, NULL);
	if (out->body.len)
		out->json = json_loadb(out->body.p, out->body.len,
		                       JSON_REJECT_DUPLICATES, NULL);
}

static int
failure(const struct http *h, CURLcode code, const char *said,
        const struct buf *body, struct buf *why)
{
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return -EINTR;
	if (buf_err(body))
		return buf_err(body);
	buf_addf(why, "can't reach %s: %s", h->server,
	         *said ? said : curl_easy_strerror(code));
	return -EHOSTUNREACH;
}

static size_t
without_slash(const char *server)
{
	size_t n = strlen(server);

	while (n && server[n - 1] == '/')
		n--;
	return n;
}

static void
free_headers(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

static CURLcode
result_of(CURLM *multi, CURLMcode failed)
{
	const struct CURLMsg *m;
	int left;

	if (failed)
		return failed == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY
		                                     : CURLE_FAILED_INIT;
	m = curl_multi_info_read(multi, &left);
	return m ? m->data.result : CURLE_ABORTED_BY_CALLBACK;
}

/* Replaces curl_easy_perform(), which calls back only once a second: too slow
 * for a progress bar. */
static CURLcode
perform(struct http *h)
{
	int running = 1;
	CURLMcode rc = curl_multi_add_handle(h->multi, h->curl);
	CURLcode code;

	while (!rc && running) {
		rc = curl_multi_perform(h->multi, &running);
		if (!rc && running)
			rc = curl_multi_poll(h->multi, NULL, 0, HTTP_TICK_MS,
			                     NULL);
		if (h->tick)
			h->tick(h->tick_arg);
	}
	code = result_of(h->multi, rc);
	curl_multi_remove_handle(h->multi, h->curl);
	return code;
}

int
http_send(struct http *h, const char *method, const char *path,
          const struct content *body, struct http_reply *out, struct buf *why)
{
	CLEANUP(free_headers) struct curl_slist *headers = NULL;
	CLEANUP_BUF struct buf url = BUF_INIT(BUF_MAX_SMALL);
	char said[CURL_ERROR_SIZE] = "";
	CURLcode code;
	int rc;

	if ((!h->curl && !(h->curl = curl_easy_init())) ||
	    (!h->multi && !(h->multi = curl_multi_init())))
		return -ENOMEM;
	buf_addf(&url, "%.*s%s", (int)without_slash(h->server), h->server,
	         path);
	rc = make_headers(h, body, &headers);
	if (!rc)
		rc = buf_err(&url);
	if (rc)
		return rc;
	set_up(h, method, buf_str(&url), out, said);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
	if (body) {
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body->p);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE,
		                 (curl_off_t)body->n);
	}
	code = perform(h);
	if (code)
		return failure(h, code, said, &out->body, why);
	read_headers(h->curl, out);
	return 0;
}

int
http_call(struct http *h, const char *method, const char *path,
          const json_t *body, struct http_reply *out, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	struct content content = {.type = "application/json"};
	int rc;

	if (!body)
		return http_send(h, method, path, NULL, out, why);
	rc = json_write(body, &text);
	if (rc)
		return rc;
	content.p = buf_str(&text);
	content.n = text.len;
	return http_send(h, method, path, &content, out, why);
}
