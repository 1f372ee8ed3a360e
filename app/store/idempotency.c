#include "store/idempotency.h"

#include "store/db/row.h"
#include "store/quota.h"

#include <errno.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(idempotency, fingerprint),
	ROW_FIELD(idempotency, location),
	ROW_FIELD(idempotency, body),
	ROW_FIELD(idempotency, status),
};
static const struct row_type type = ROW_TYPE(idempotency, fields);

ROW_DONE(idempotency, type)

int
idempotency_get(struct store *s, const struct idempotency_key *k,
                struct idempotency *out)
{
	return row_one(
		s->db, &type, out, SQL_IDEMPOTENCY_GET,
		ARGS(V(k->tenant), V(k->actor), V(k->key), V(IDEMPOTENCY_MS)));
}

int
idempotency_claim(struct store *s, const struct idempotency_key *k,
                  const char *fingerprint)
{
	int n = db_run(s->db, SQL_IDEMPOTENCY_CLAIM,
	               ARGS(V(k->tenant), V(k->actor), V(k->key),
	                    V(fingerprint), V(IDEMPOTENCY_MS)));

	return n <= 0 ? n : quota_check(s, k->tenant, QUOTA_kept_replies, 1) ?: 1;
}

int
idempotency_keep(struct store *s, const struct idempotency_key *k,
                 const struct idempotency *v)
{
	if (strlen(v->body) > IDEMPOTENCY_BODY_MAX)
		return -EMSGSIZE;
	return db_change(s->db, -ENOENT, SQL_IDEMPOTENCY_KEEP,
	                 ARGS(V(v->status), V(v->location), V(v->body),
	                      V(k->tenant), V(k->actor), V(k->key)));
}

int
idempotency_prune(struct store *s)
{
	return db_do(s->db, SQL_IDEMPOTENCY_PRUNE, ARGS(V(IDEMPOTENCY_MS)));
}
