#include "fetcher_transfer.h"

#include "base/file.h"
#include "base/version.h"
#include "collector_headers.h"
#include "worker/ipc/debuginfod_url.h"
#include "worker/ipc/fetch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_HEADERS    ((size_t)64 << 10)
#define CURL_TOO_LARGE ((CURLcode)100) /* CURLE_TOO_LARGE, from 8.6 on */

/* --- addresses ------------------------------------------------------------ */

static const struct {
	const char *address;
	unsigned bits;
} denied[] = {
#define FETCH_DENIED(address, bits) {address, bits},
#include "worker/ipc/fetch.def"
#undef FETCH_DENIED
};

static bool
same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return !rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool
is_denied(int family, const uint8_t *bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
		uint8_t row[16];

		if (inet_pton(family, denied[i].address, row) == 1 &&
		    same_bits(bytes, row, denied[i].bits))
			return true;
	}
	return false;
}

static bool
ipv4_ok(const uint8_t bytes[static 4], bool local)
{
	return !is_denied(AF_INET, bytes) && (local || bytes[0] != 127);
}

/* Returns the IPv4 address inside an IPv6 address, or NULL. */
static const uint8_t *
embedded(const uint8_t bytes[static 16])
{
	static const uint8_t compatible[12], mapped[12] = {[10] = 255, 255},
					     nat64[12] = {0, 0x64, 0xff, 0x9b};
	static const uint8_t six_to_four[2] = {0x20, 0x02};

	if (!memcmp(bytes, mapped, 12) || !memcmp(bytes, nat64, 12) ||
	    !memcmp(bytes, compatible, 12))
		return bytes + 12;
	return !memcmp(bytes, six_to_four, 2) ? bytes + 2 : NULL;
}

static bool
ipv6_ok(const struct in6_addr *a, bool local)
{
	const uint8_t *v4 = embedded(a->s6_addr);

	if (IN6_IS_ADDR_LOOPBACK(a))
		return local;
	return !is_denied(AF_INET6, a->s6_addr) && (!v4 || ipv4_ok(v4, local));
}

bool
fetch_address_ok(const struct sockaddr *a, socklen_t n, bool local)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (n >= sizeof(v4) && a->sa_family == AF_INET) {
		memcpy(&v4, a, sizeof(v4));
		return ipv4_ok((const uint8_t *)&v4.sin_addr, local);
	}
	if (n >= sizeof(v6) && a->sa_family == AF_INET6) {
		memcpy(&v6, a, sizeof(v6));
		return ipv6_ok(&v6.sin6_addr, local);
	}
	return false;
}

/* --- a transfer's end ----------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset, size;
} headers[] = {
#define FETCH_HEADER(field, name, size) \
	{name, offsetof(struct fetch_answer, field), size},
#include "worker/ipc/fetch.def"
#undef FETCH_HEADER
};

void
transfer_free(struct transfer *t)
{
	if (!t)
		return;
	if (!t->given)
		t->fetcher->held -= t->answer.bytes;
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	close_ptr(&t->in);
	close_ptr(&t->out);
	free(t);
}
DEFINE_CLEANUP(struct transfer *, transfer_free)

/* --- callbacks of libcurl ------------------------------------------------- */

static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct transfer *t = arg;

	(void)purpose;
	if (!fetch_address_ok(&a->addr, a->addrlen, t->local)) {
		t->denied = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t
take_body(char *p, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;
	uint64_t bytes = (uint64_t)one * n;

	uint64_t held = t->given ? 0 : t->fetcher->held;

	if (bytes > t->max_bytes - t->answer.bytes ||
	    bytes > FETCHER_MAX_HELD - held) {
		t->too_large = true;
		return 0;
	}
	if (fd_write_all(t->out, p, bytes))
		return 0;
	t->answer.bytes += bytes;
	if (!t->given)
		t->fetcher->held += bytes;
	return bytes;
}

static size_t
give_body(char *p, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;
	ssize_t got = pread(t->in, p, one * n, t->sent);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	t->sent += got;
	return (size_t)got;
}

void
transfer_header(struct fetch_answer *a, const char *p, size_t n)
{
	const char *colon = memchr(p, ':', n), *value, *end = p + n;

	if (!colon)
		return;
	for (value = colon + 1; value < end && *value == ' ';)
		value++;
	while (end > value && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		char *to = (char *)a + headers[i].offset;
		size_t len = (size_t)(colon - p);

		if (len == strlen(headers[i].name) &&
		    !strncasecmp(p, headers[i].name, len) &&
		    (size_t)(end - value) < headers[i].size) {
			memcpy(to, value, (size_t)(end - value));
			to[end - value] = '\0';
		}
	}
}

static size_t
take_header(char *p, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;

	t->header_bytes += one * n;
	if (t->header_bytes > MAX_HEADERS)
		return 0;
	transfer_header(&t->answer, p, one * n);
	return one * n;
}

/* --- options of libcurl --------------------------------------------------- */

static int
add_header(void *arg, const char *header)
{
	struct transfer *t = arg;
	struct curl_slist *more = curl_slist_append(t->headers, header);

	if (!more)
		return -ENOMEM;
	t->headers = more;
	return 0;
}

/* Adds the operator's headers for a collector. */
static int
add_own_headers(struct transfer *t, const struct fetch_ask *ask)
{
	const struct fetcher *f = t->fetcher;
	struct url u;

	if (ask->purpose != FETCH_COLLECTOR)
		return 0;
	return url_parse(ask->url, &u)
	               ?: collector_headers(buf_str(&f->headers), ask->tenant,
	                                    &u, f->own, add_header, t);
}

static int
add_headers(struct transfer *t, const struct fetch_ask *ask)
{
	const struct centre *centre = t->fetcher->centre;
	const char *p = ask->headers;

	if (centre && add_header(t, buf_str(&centre->authorization)))
		return -ENOMEM;
	while (*p) {
		size_t n = strcspn(p, "\n");
		CLEANUP_FREE char *line = strndup(p, n);
		int rc = line ? add_header(t, line) : -ENOMEM;

		if (rc)
			return rc;
		p += n + (p[n] == '\n');
	}
	return add_own_headers(t, ask);
}

#define SET(option, value)                                              \
	do {                                                            \
		if (curl_easy_setopt(t->easy, CURLOPT_##option, value)) \
			return -EINVAL;                                 \
	} while (0)

static int
set_limits(struct transfer *t, const struct fetch_ask *ask)
{
	SET(PROTOCOLS_STR, t->fetcher->centre ? "https" : "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(PROXY, "");
	SET(NOPROXY, "*");
	SET(NOSIGNAL, 1L);
	if (!t->fetcher->centre) /* only the centre is asked often */
		SET(FORBID_REUSE, 1L);
	SET(DNS_CACHE_TIMEOUT, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CONNECTTIMEOUT_MS, (long)ask->connect_ms);
	SET(TIMEOUT_MS, (long)ask->total_ms);
	SET(MAXFILESIZE_LARGE, (curl_off_t)ask->max_bytes);
	SET(OPENSOCKETFUNCTION, open_socket);
	SET(OPENSOCKETDATA, t);
	return 0;
}

/* Sets the courier's client certificate, if it has one. */
static int
set_certificate(struct transfer *t)
{
	const struct centre *centre = t->fetcher->centre;
	struct curl_blob cert = {centre->cert.p, centre->cert.len,
	                         CURL_BLOB_NOCOPY};
	struct curl_blob key = {centre->cert_key.p, centre->cert_key.len,
	                        CURL_BLOB_NOCOPY};

	if (!cert.len)
		return 0;
	SET(SSLCERT_BLOB, &cert);
	SET(SSLKEY_BLOB, &key);
	return 0;
}

static int
set_tls(struct transfer *t)
{
	struct curl_blob ca = {t->fetcher->ca.p, t->fetcher->ca.len,
	                       CURL_BLOB_NOCOPY};

	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(CAPATH, NULL);
	if (ca.len)
		SET(CAINFO_BLOB, &ca);
	return t->fetcher->centre ? set_certificate(t) : 0;
}

static int
set_body(struct transfer *t, const struct fetch_ask *ask)
{
	struct stat st;

	if (ask->method != FETCH_POST)
		return 0;
	if (t->in < 0 || fstat(t->in, &st))
		return -EBADF;
	SET(POST, 1L);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)st.st_size);
	SET(READFUNCTION, give_body);
	SET(READDATA, t);
	return 0;
}

static int
set_all(struct transfer *t, const struct fetch_ask *ask)
{
	char agent[VERSION_MAX];
	int rc = add_headers(t, ask);

	if (rc)
		return rc;
	snprintf(agent, sizeof(agent), "stoker/%s", stoker_version);
	SET(URL, ask->url);
	SET(PRIVATE, t);
	SET(USERAGENT, agent);
	SET(HTTPHEADER, t->headers);
	SET(WRITEFUNCTION, take_body);
	SET(WRITEDATA, t);
	SET(HEADERFUNCTION, take_header);
	SET(HEADERDATA, t);
	rc = set_limits(t, ask);
	if (!rc)
		rc = set_tls(t);
	return rc ? rc : set_body(t, ask);
}

/* --- one transfer --------------------------------------------------------- */

/* True for URLs below the centre's address. */
static bool
is_centre(const struct centre *c, const char *url)
{
	size_t n = strlen(c->url);

	while (n && c->url[n - 1] == '/')
		n--;
	return !strncmp(url, c->url, n) && url[n] == '/';
}

static bool
is_allowed(const struct fetcher *f, const struct fetch_ask *ask,
           const struct url *u)
{
	if (f->centre)
		return ask->purpose == FETCH_CENTRE &&
		       is_centre(f->centre, ask->url);
	switch (ask->purpose) {
	case FETCH_PPROF:
		return conf_allows_endpoint(f->conf, ask->tenant, u, f->own);
	case FETCH_DEBUGINFOD:
		return debuginfod_allows(f->conf->symbols_debuginfod, ask->url);
	case FETCH_WEBHOOK:
		return conf_allows_webhook(f->conf, ask->tenant, u, f->own);
	case FETCH_COLLECTOR:
		return conf_allows_collector(f->conf, ask->tenant, u, f->own);
	default:
		return false;
	}
}

static enum fetch_error
check(struct transfer *t, const struct fetch_ask *ask)
{
	const struct fetcher *f = t->fetcher;
	struct url u;

	if (!memchr(ask->url, '\0', sizeof(ask->url)) ||
	    !memchr(ask->headers, '\0', sizeof(ask->headers)) ||
	    !memchr(ask->tenant, '\0', sizeof(ask->tenant)) ||
	    url_parse(ask->url, &u))
		return FETCH_URL;
	if (!is_allowed(f, ask, &u))
		return FETCH_HOST;
	if (ask->purpose == FETCH_COLLECTOR && f->no_headers)
		return FETCH_INTERNAL;
	t->local = url_is_local(&u) || !strcasecmp(u.host, f->own);
	return FETCH_OK;
}

enum fetch_error
transfer_new(struct fetcher *f, const struct fetch_ask *ask, int in,
             struct transfer **out)
{
	CLEANUP(transfer_free_ptr) struct transfer *t = calloc(1, sizeof(*t));
	enum fetch_error e;

	if (!t) {
		close_ptr(&in);
		return FETCH_INTERNAL;
	}
	t->fetcher = f;
	t->given = in >= 0 && ask->method == FETCH_GET;
	t->in = t->given ? -1 : in;
	t->max_bytes = ask->max_bytes;
	t->answer.type = MSG_FETCHED;
	t->answer.id = ask->id;
	t->out = t->given ? in : memfd_create("stoker-fetched", MFD_CLOEXEC);
	t->easy = curl_easy_init();
	e = check(t, ask);
	if (!e && (t->out < 0 || !t->easy || set_all(t, ask)))
		e = FETCH_INTERNAL;
	if (!e)
		*out = TAKE(t);
	return e;
}

static const struct {
	CURLcode code;
	enum fetch_error error;
} results[] = {
	{CURLE_OK, FETCH_OK},
	{CURLE_COULDNT_RESOLVE_HOST, FETCH_RESOLVE},
	{CURLE_COULDNT_CONNECT, FETCH_CONNECT},
	{CURLE_OPERATION_TIMEDOUT, FETCH_TIMEOUT},
	{CURLE_PARTIAL_FILE, FETCH_TRUNCATED},
	{CURLE_GOT_NOTHING, FETCH_TRUNCATED},
	{CURLE_RECV_ERROR, FETCH_TRUNCATED},
	{CURLE_SEND_ERROR, FETCH_TRUNCATED},
	{CURLE_FILESIZE_EXCEEDED, FETCH_TOO_LARGE},
	{CURLE_SSL_CONNECT_ERROR, FETCH_TLS},
	{CURLE_PEER_FAILED_VERIFICATION, FETCH_TLS},
	{CURLE_SSL_CACERT_BADFILE, FETCH_TLS},
	{CURLE_SSL_CERTPROBLEM, FETCH_TLS},
	{CURLE_SSL_CIPHER, FETCH_TLS},
	{CURLE_SSL_ISSUER_ERROR, FETCH_TLS},
	{CURLE_WEIRD_SERVER_REPLY, FETCH_PROTOCOL},
	{CURLE_UNSUPPORTED_PROTOCOL, FETCH_PROTOCOL},
	{CURLE_BAD_CONTENT_ENCODING, FETCH_PROTOCOL},
};

/* True if a header, or all of them, were too large. libcurl passes on no line
 * of more than about 100 KB; before 8.6, it then reports that it lacks
 * memory. */
static bool
headers_have_no_end(const struct transfer *t, CURLcode code)
{
	return t->header_bytes > MAX_HEADERS ||
	       (t->header_bytes && !t->answer.bytes &&
	        (code == CURLE_OUT_OF_MEMORY || code == CURL_TOO_LARGE));
}

enum fetch_error
transfer_result(const struct transfer *t, CURLcode code)
{
	if (t->too_large)
		return FETCH_TOO_LARGE;
	if (headers_have_no_end(t, code))
		return FETCH_HEADERS;
	if (code == CURLE_COULDNT_CONNECT && t->denied)
		return FETCH_ADDRESS;
	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		if (results[i].code == code)
			return results[i].error;
	return FETCH_INTERNAL;
}
