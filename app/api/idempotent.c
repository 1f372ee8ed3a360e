#include "idempotent.h"

#include "router.h"
#include "store/idempotency.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

DEFINE_CLEANUP(EVP_MD_CTX *, EVP_MD_CTX_free)

/* The fingerprint of a request: SHA-256 of FORM, route, query and body. FORM
 * makes it differ from those of releases that encrypted kept replies. */
#define FORM "plain/"

static int
fingerprint(const struct call *c, char out[static 2 * EVP_MAX_MD_SIZE + 1])
{
	CLEANUP(EVP_MD_CTX_free_ptr) EVP_MD_CTX *sha = EVP_MD_CTX_new();
	CLEANUP_BUF struct buf text = BUF_INIT(8 * REQUEST_MAX_URI);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	buf_puts(&text, FORM);
	buf_puts(&text, c->route->name);
	for (size_t i = 0; i < c->req->nsegments; i++)
		buf_addf(&text, "/%s", c->req->segments[i]);
	for (size_t i = 0; i < c->req->nquery; i++)
		buf_addf(&text, "&%s=%s", c->req->query[i].name,
		         c->req->query[i].value);
	buf_putc(&text, '\n');
	if (buf_err(&text))
		return buf_err(&text);
	if (!sha || !EVP_DigestInit_ex(sha, EVP_sha256(), NULL) ||
	    !EVP_DigestUpdate(sha, text.p, text.len) ||
	    !EVP_DigestUpdate(sha, c->req->body, c->req->body_len) ||
	    !EVP_DigestFinal_ex(sha, digest, &n))
		return -EIO;
	for (unsigned int i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

static int
repeat(struct call *c, const struct idempotency *kept, const char *print)
{
	if (strcmp(kept->fingerprint, print) != 0)
		return fail(c, IdempotencyKeyReused);
	(void)answer_json(c);
	buf_clear(&c->reply->body);
	buf_puts(&c->reply->body, kept->body);
	c->reply->status = (int)kept->status;
	if (*kept->location)
		reply_header(c->reply, "Location", "%s", kept->location);
	reply_header(c->reply, "Idempotency-Replayed", "true");
	return 0;
}

/* Copies the Location header that the handler set, if any. */
static void
copy_location(const struct reply *r, struct buf *out)
{
	static const char name[] = "Location: ";
	const char *at = strstr(buf_str(&r->headers), name);

	if (at)
		buf_add(out, at + sizeof(name) - 1,
		        strcspn(at + sizeof(name) - 1, "\r"));
}

static struct idempotency_key
key_of(const struct call *c)
{
	return (struct idempotency_key){
		.tenant = c->caller.tenant,
		.actor = c->caller.id,
		.key = c->req->idempotency_key,
	};
}

static int
keep(struct call *c)
{
	CLEANUP_BUF struct buf location = BUF_INIT(BUF_MAX_SMALL);
	const struct idempotency_key key = key_of(c);
	struct idempotency v = {
		.status = c->reply->status,
		.body = (char *)buf_str(&c->reply->body),
	};

	copy_location(c->reply, &location);
	v.location = (char *)buf_str(&location);
	return idempotency_keep(&c->env->store, &key, &v);
}

/* Returns 0 if the key is new, or -1 with a reply: the earlier one, if
 * c->repeated is set, or an error. */
static int
look_up(struct call *c)
{
	CLEANUP_IDEMPOTENCY struct idempotency kept = {0};
	const struct idempotency_key key = key_of(c);
	char print[2 * EVP_MAX_MD_SIZE + 1];
	int rc = fingerprint(c, print)
	                 ?: idempotency_get(&c->env->store, &key, &kept);

	if (rc)
		return rc == -ENOENT ? 0 : fail_store(c, rc);
	c->repeated = !repeat(c, &kept, print);
	return -1;
}

/* Begins the transaction and claims the key in it. If another call claimed the
 * key first, repeats its reply. */
static int
begin(struct call *c)
{
	const struct idempotency_key key = key_of(c);
	char print[2 * EVP_MAX_MD_SIZE + 1];
	int rc = fingerprint(c, print) ?: store_begin(&c->env->store);

	if (rc)
		return fail_store(c, rc);
	c->begun = true;
	rc = idempotency_claim(&c->env->store, &key, print);
	if (rc < 0)
		return fail_store(c, rc);
	return rc ? 0 : look_up(c);
}

/* True for a call that creates nothing and whose reply holds no secret:
 * repeating it is harmless. */
static bool
needs_no_key(const struct route *r)
{
	return r->who == WHO_VIEWER && r->status == 200;
}

/* Returns 0 if the transaction is to be committed, -1 if it is to be rolled
 * back. */
static int
run_once(struct call *c)
{
	int rc;

	/* An upload is read before it stores anything: a transaction would keep
	 * other writers waiting meanwhile. */
	c->begin = begin;
	rc = c->route->upload ? 0 : begin(c);
	if (!rc)
		rc = route_run(c);
	if (!rc && !c->begun)
		rc = begin(c);
	if (rc)
		return c->repeated ? 0 : -1;
	rc = keep(c);
	if (rc == -EMSGSIZE)
		return fail(c, ReplyNotKept, (int)IDEMPOTENCY_BODY_MAX);
	return rc ? fail_store(c, rc) : 0;
}

/* True for printable ASCII, which every database can store. */
static bool
key_ok(const char *key)
{
	size_t n = 0;

	for (; key[n]; n++)
		if (key[n] < ' ' || key[n] > '~')
			return false;
	return n < IDEMPOTENCY_KEY_MAX;
}

int
idempotent_run(struct call *c)
{
	struct store *store = &c->env->store;
	const char *key = c->req->idempotency_key;
	int rc;

	if (needs_no_key(c->route))
		return route_run(c);
	if (!route_takes_key(c->route))
		return fail_param(c, "Idempotency-Key",
		                  "none, because the reply holds a secret",
		                  key);
	if (!key_ok(key))
		return fail_param(c, "Idempotency-Key",
		                  "at most 255 printable ASCII characters",
		                  key);
	if (look_up(c))
		return c->repeated ? 0 : -1;
	if (run_once(c)) {
		if (c->begun)
			store_rollback(store);
		return -1;
	}
	rc = store_commit(store);
	return rc ? fail_store(c, rc) : 0;
}
