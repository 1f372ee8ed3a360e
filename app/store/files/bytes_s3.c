#include "s3_private.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGE_BYTES ((size_t)4 << 20) /* bound of a list of a thousand objects */

static int
put(struct store *s, const char *name, const void *p, size_t n, int *out_hold)
{
	const struct s3_call call = {.method = "PUT",
	                             .name = name,
	                             .body = p,
	                             .length = n,
	                             .to = -1,
	                             .most = 4096};
	struct s3_answer a;
	int rc = s->s3 ? s3_ask(s->s3, s, &call, &a) : -ENOTSUP;

	if (!rc && a.status / 100 != 2)
		rc = -EREMOTEIO;
	if (!rc)
		*out_hold = -1;
	return rc;
}

/* True if the answer has the requested piece, and the object has the expected
 * length. */
static bool
is_piece(const struct s3_answer *a, const struct s3_call *call, size_t came,
         int64_t whole)
{
	if (a->too_long || came != call->most)
		return false;
	if (call->to < 0)
		return a->status == 200;
	return a->status == 206 && a->from == call->from && a->whole == whole;
}

/*
 * A whole object is requested without a range, since an empty object has none.
 * For an empty piece, the first byte is requested, to learn whether the object
 * exists.
 */
static int
read_piece(const struct store *s, const char *name, const struct piece *piece,
           struct buf *out)
{
	bool all = piece->n == piece->whole;
	CLEANUP_BUF struct buf first = BUF_INIT(1);
	struct s3_call call = {.method = "GET",
	                       .name = name,
	                       .from = piece->n ? piece->start : 0,
	                       .out = piece->n ? out : &first};
	struct s3_answer a;
	size_t before = call.out->len;
	int rc;

	call.most = all || piece->n ? (size_t)piece->n : 1;
	call.to = all ? -1 : call.from + (int64_t)call.most - 1;
	rc = s->s3 ? s3_ask(s->s3, s, &call, &a) : -ENOTSUP;
	if (rc)
		return rc;
	if (a.status == 404)
		return -ENOENT;
	return is_piece(&a, &call, call.out->len - before, piece->whole)
	               ? 0
	               : -EBADMSG;
}

static int
get(const struct store *s, const char *name, const struct piece *piece,
    struct buf *out)
{
	bool part = piece->n && piece->n < piece->whole;

	return s->s3 && part && piece->n <= S3_SMALL
	               ? s3_cache_get(&s->s3->cache, s, name, piece, read_piece,
	                              out)
	               : read_piece(s, name, piece, out);
}

static int
drop(struct store *s, const char *name)
{
	const struct s3_call call = {
		.method = "DELETE", .name = name, .to = -1, .most = 4096};
	struct s3_answer a;

	if (!s->s3)
		return -ENOTSUP;
	s3_cache_forget(&s->s3->cache, name);
	return s3_ask(s->s3, s, &call, &a);
}

/* --- listing -------------------------------------------------------------- */

/* Copies the text of the next element before end; false if there is none. */
static bool
element(const char *from, const char *end, const char *open, char *out,
        size_t max)
{
	const char *p = strstr(from, open), *close;
	size_t n;

	if (!p || p >= end)
		return false;
	p += strlen(open);
	close = strchr(p, '<');
	if (!close || close > end)
		return false;
	n = (size_t)(close - p);
	if (n >= max)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	return true;
}

struct listing {
	struct store *s;
	bytes_listed *fn;
	void *arg;
	int64_t now_ms; /* the object store's clock */
	char *last;     /* name of the last object, in BYTES_LAST_MAX bytes */
};

/* Reports only names that Stoker makes and that are old enough. */
static int
see(struct listing *l, const char *key, const char *time)
{
	size_t n = strlen(l->s->s3->prefix);
	const char *name = key + n;
	int64_t at_ms;
	int rc;

	if (strncmp(key, l->s->s3->prefix, n) != 0 || !bytes_name_valid(name) ||
	    clock_parse(time, &at_ms) || l->now_ms - at_ms < S3_SETTLED_MS)
		return 0;
	rc = l->fn(l->arg, name);
	return rc > 0 ? drop(l->s, name) : rc;
}

/* Reads a page. Refuses names that do not ascend: the list would never end. */
static int
see_page(struct listing *l, const char *page)
{
	static const char open[] = "<Contents>", close[] = "</Contents>";
	int rc = 0;

	for (const char *p = strstr(page, open), *end; p && !rc;
	     p = strstr(end, open)) {
		char key[BYTES_LAST_MAX], time[64];

		end = strstr(p, close);
		if (!end || !element(p, end, "<Key>", key, sizeof(key)) ||
		    !element(p, end, "<LastModified>", time, sizeof(time)) ||
		    strcmp(key, l->last) <= 0)
			return -EREMOTEIO;
		snprintf(l->last, BYTES_LAST_MAX, "%s", key);
		rc = see(l, key, time);
	}
	return rc;
}

/* Encodes a text for a query. Queries are written in the order of their keys,
 * since libcurl 7.88 signs them unsorted. */
static void
encode(struct buf *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789-_.~";

	for (; *text; text++)
		if (strchr(plain, *text))
			buf_putc(out, *text);
		else
			buf_addf(out, "%%%02X", (unsigned char)*text);
}

static int
ask_page(struct listing *l, struct buf *page)
{
	CLEANUP_BUF struct buf query = BUF_INIT((size_t)8 * BYTES_LAST_MAX);
	struct s3_call call = {
		.method = "GET", .to = -1, .out = page, .most = PAGE_BYTES};
	struct s3_answer a;
	int rc;

	buf_puts(&query, "list-type=2&max-keys=1000&prefix=");
	encode(&query, l->s->s3->prefix);
	if (*l->last) {
		buf_puts(&query, "&start-after=");
		encode(&query, l->last);
	}
	rc = buf_err(&query);
	call.query = buf_str(&query);
	rc = rc ?: s3_ask(l->s->s3, l->s, &call, &a);
	if (!rc && (a.status != 200 || a.too_long))
		rc = -EREMOTEIO;
	if (!rc)
		l->now_ms = a.now_ms;
	return rc;
}

static int
list(struct store *s, struct bytes_at *at, bytes_listed *fn, void *arg)
{
	struct listing l = {.s = s, .fn = fn, .arg = arg, .last = at->last};
	CLEANUP_BUF struct buf page = BUF_INIT(PAGE_BYTES);
	const struct bytes_at was = *at;
	int rc = s->s3 ? 0 : -ENOTSUP;

	rc = rc ?: ask_page(&l, &page) ?: see_page(&l, buf_str(&page));
	at->more = !rc && strstr(buf_str(&page), "<IsTruncated>true<") &&
	           strcmp(was.last, at->last) != 0;
	return rc;
}

const struct bytes_driver bytes_s3 = {BYTES_S3, put, get, drop, list};
