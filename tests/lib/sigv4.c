#include "lib/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 8192
#define PAIRS    32

/* The parts of a signature in the header or in the query. */
struct claim {
	char key[128], day[16], region[64];
	char date[32], names[512], mac[80];
	char payload[80];
};

static void
hex(const unsigned char *p, char out[static 65])
{
	for (int i = 0; i < 32; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
}

static void
hash(const void *p, size_t n, char out[static 65])
{
	unsigned char sum[32];

	EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL);
	hex(sum, out);
}

static void
mac(const void *key, size_t n, const char *text, unsigned char out[static 32])
{
	unsigned char sum[32];

	HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text,
	     strlen(text), sum, NULL);
	memcpy(out, sum, 32);
}

const char *
sigv4_header(const struct sigv4_request *r, const char *name)
{
	for (size_t i = 0; i < r->nheaders; i++)
		if (!strcmp(r->headers[i].name, name))
			return r->headers[i].value;
	return NULL;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Writes the query sorted by name, without the signature. */
static void
sorted_query(const char *query, char *out)
{
	char text[TEXT_MAX], *save = NULL, *pairs[PAIRS];
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", query);
	for (char *p = strtok_r(text, "&", &save); p && n < PAIRS;
	     p = strtok_r(NULL, "&", &save))
		if (strncmp(p, "X-Amz-Signature=", 16) != 0)
			pairs[n++] = p;
	qsort(pairs, n, sizeof(*pairs), by_name);
	*out = '\0';
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "%s%s%s", i ? "&" : "", pairs[i],
		               strchr(pairs[i], '=') ? "" : "=");
}

/* Writes "host:example.com\nrange:bytes=0-9\n"; fails if a named header is
 * missing. */
static int
signed_headers(const struct sigv4_request *r, const char *names, char *out)
{
	char text[512], *save = NULL;

	snprintf(text, sizeof(text), "%s", names);
	*out = '\0';
	for (char *p = strtok_r(text, ";", &save); p;
	     p = strtok_r(NULL, ";", &save)) {
		const char *value = sigv4_header(r, p);

		if (!value)
			return 0;
		out += sprintf(out, "%s:%s\n", p, value);
	}
	return 1;
}

static void
expected(const struct sigv4_request *r, const struct claim *c,
         const char *secret, char out[static 65])
{
	static char query[TEXT_MAX], headers[TEXT_MAX], text[4 * TEXT_MAX];
	unsigned char k[32];
	char sum[65], first[256];

	sorted_query(r->query, query);
	if (!signed_headers(r, c->names, headers))
		strcpy(headers, "a header is missing");
	snprintf(text, sizeof(text), "%s\n%s\n%s\n%s\n%s\n%s", r->method,
	         r->path, query, headers, c->names, c->payload);
	hash(text, strlen(text), sum);
	snprintf(text, sizeof(text),
	         "AWS4-HMAC-SHA256\n%s\n%s/%s/s3/aws4_request\n%s", c->date,
	         c->day, c->region, sum);
	snprintf(first, sizeof(first), "AWS4%s", secret);
	mac(first, strlen(first), c->day, k);
	mac(k, 32, c->region, k);
	mac(k, 32, "s3", k);
	mac(k, 32, "aws4_request", k);
	mac(k, 32, text, k);
	hex(k, out);
}

static int
has_name(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = strstr(names, name); p; p = strstr(p + 1, name))
		if ((p == names || p[-1] == ';') && (!p[n] || p[n] == ';'))
			return 1;
	return 0;
}

/* The host and all of Amazon's headers must be signed and not empty. */
static const char *
check_headers(const struct sigv4_request *r, const struct claim *c)
{
	if (!has_name(c->names, "host"))
		return "the host is not signed";
	for (size_t i = 0; i < r->nheaders; i++) {
		if (!strncmp(r->headers[i].name, "x-amz-", 6) &&
		    !has_name(c->names, r->headers[i].name))
			return "an x-amz- header is not signed";
		if (!*r->headers[i].value)
			return "a header is empty";
	}
	return NULL;
}

static const char *
read_header(const struct sigv4_request *r, const char *text, struct claim *c)
{
	const char *date = sigv4_header(r, "x-amz-date");
	const char *payload = sigv4_header(r, "x-amz-content-sha256");
	char sum[65];

	if (sscanf(text,
	           "AWS4-HMAC-SHA256 "
	           "Credential=%127[^/]/%15[^/]/%63[^/]/s3/aws4_request, "
	           "SignedHeaders=%511[^,], Signature=%79s",
	           c->key, c->day, c->region, c->names, c->mac) != 5)
		return "Authorization has another form";
	if (!date || !payload)
		return "x-amz-date or x-amz-content-sha256 is missing";
	snprintf(c->date, sizeof(c->date), "%s", date);
	snprintf(c->payload, sizeof(c->payload), "%s", payload);
	hash(r->body ? r->body : "", r->nbody, sum);
	if (strcmp(payload, "UNSIGNED-PAYLOAD") != 0 && strcmp(payload, sum))
		return "the body has another hash";
	return check_headers(r, c);
}

/* Copies the value of a parameter of the query. */
static void
query_value(const char *query, const char *name, char *out, size_t max)
{
	size_t n = strlen(name);

	*out = '\0';
	for (const char *p = query; p && *p; p = strchr(p, '&')) {
		p += *p == '&';
		if (!strncmp(p, name, n) && p[n] == '=') {
			snprintf(out, max, "%.*s", (int)strcspn(p + n + 1, "&"),
			         p + n + 1);
			return;
		}
	}
}

static const char *
read_query(const struct sigv4_request *r, struct claim *c)
{
	char credential[256], expires[32];

	query_value(r->query, "X-Amz-Credential", credential,
	            sizeof(credential));
	query_value(r->query, "X-Amz-Date", c->date, sizeof(c->date));
	query_value(r->query, "X-Amz-SignedHeaders", c->names,
	            sizeof(c->names));
	query_value(r->query, "X-Amz-Signature", c->mac, sizeof(c->mac));
	query_value(r->query, "X-Amz-Expires", expires, sizeof(expires));
	strcpy(c->payload, "UNSIGNED-PAYLOAD");
	if (sscanf(credential,
	           "%127[^%]%%2F%15[^%]%%2F%63[^%]%%2Fs3%%2Faws4_request",
	           c->key, c->day, c->region) != 3)
		return "X-Amz-Credential has another form";
	if (atoi(expires) < 1 || atoi(expires) > 604800)
		return "X-Amz-Expires is out of bounds";
	return has_name(c->names, "host") ? NULL : "the host is not signed";
}

const char *
sigv4_refuses(const struct sigv4_request *r, const char *key,
              const char *secret)
{
	const char *header = sigv4_header(r, "authorization"), *why;
	struct claim c = {0};
	char want[65];

	why = header ? read_header(r, header, &c) : read_query(r, &c);
	if (why)
		return why;
	if (strcmp(c.key, key) != 0)
		return "another key has signed";
	if (strncmp(c.date, c.day, 8) != 0)
		return "the day is another";
	expected(r, &c, secret, want);
	return strcmp(want, c.mac) ? "the signature does not match" : NULL;
}
