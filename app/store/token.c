#include "store/token.h"

#include "base/conf.h"
#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/files/digest.h"
#include "store/quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(token, id),
	ROW_FIELD(token, name),
	ROW_FIELD(token, role),
	ROW_FIELD(token, tenants),
	ROW_FIELD(token, default_tenant),
	ROW_FIELD(token, host),
	ROW_FIELD(token, created_ms),
	ROW_FIELD(token, expires_ms),
	ROW_FIELD(token, revoked_ms),
	ROW_FIELD(token, last_used_ms),
};
static const struct row_type type = ROW_TYPE(token, fields);

ROW_DONE(token, type)
ROW_PAGE_DONE(token_list, type)

/* Makes a key of 200 random bits in the alphabet of ids. */
static void
make_key(char out[static TOKEN_KEY_MAX])
{
	char first[ID_MAX], second[ID_MAX];

	id_new(TOKEN_KEY_PREFIX, first);
	id_new("", second);
	snprintf(out, TOKEN_KEY_MAX, "%s%s", first, second);
}

static int
add(struct store *s, const struct token_ask *ask, const char *id,
    const char *hash)
{
	return db_do(s->db, SQL_TOKEN_INSERT,
	             ARGS(V(id), V(ask->name), V(hash), V(ask->role),
	                  V(ask->tenants), V(ask->default_tenant),
	                  V(ask->expires_ms), V(ask->host ? ask->host : "")))
	               ?: quota_check(s, ask->default_tenant, QUOTA_tokens, 1);
}

int
token_create(struct store *s, const struct token_ask *ask,
             char id[static ID_MAX], char key[static TOKEN_KEY_MAX])
{
	char hash[DIGEST_CHARS], new_id[ID_MAX], new_key[TOKEN_KEY_MAX];
	int rc;

	make_key(new_key);
	id_new(TOKEN_PREFIX, new_id);
	rc = digest(new_key, strlen(new_key), hash);
	if (!rc)
		rc = store_begin(s) ?: store_end(s, add(s, ask, new_id, hash));
	if (rc)
		return rc;
	memcpy(id, new_id, ID_MAX);
	memcpy(key, new_key, TOKEN_KEY_MAX);
	return 0;
}

static int
judge(struct store *s, const struct token *t)
{
	int64_t now;
	int rc = store_now(s, &now);

	if (rc)
		return rc;
	if (t->revoked_ms)
		return -EKEYREVOKED;
	if (t->expires_ms && t->expires_ms <= now)
		return -EKEYEXPIRED;
	/* a store that is too busy to record the use must not
	 * lock anyone out */
	if (now - t->last_used_ms >= TOKEN_TOUCH_MS &&
	    db_run(s->db, SQL_TOKEN_TOUCH, ARGS(V(t->id))) < 0)
		return 0;
	return 0;
}

int
token_check(struct store *s, const char *key, struct token *out)
{
	CLEANUP_TOKEN struct token t = {0};
	char hash[DIGEST_CHARS];
	int rc = digest(key, strlen(key), hash);

	if (!rc)
		rc = row_one(s->db, &type, &t, SQL_TOKEN_BY_HASH,
		             ARGS(V(hash)));
	if (!rc)
		rc = judge(s, &t);
	if (rc)
		return rc;
	*out = TAKE(t);
	return 0;
}

int
token_get(struct store *s, const char *id, struct token *out)
{
	return row_one(s->db, &type, out, SQL_TOKEN_BY_ID, ARGS(V(id)));
}

int
token_of_host(struct store *s, const char *host, struct token_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_TOKEN_OF_HOST, ARGS(V(host)));
}

bool
token_is_within(const char *tenants, const char *within)
{
	while (*tenants) {
		char word[STORE_TENANT_MAX];
		size_t n = strcspn(tenants, " ");

		if (n >= sizeof(word))
			return false;
		memcpy(word, tenants, n);
		word[n] = '\0';
		if (!conf_list_has(within, word))
			return false;
		tenants += n + strspn(tenants + n, " ");
	}
	return true;
}

/* Adds the keys of the next rows to a list with room for `room` more. Sets *at
 * to the last row; returns the number of rows that were read, or -errno. */
static int
add_rows(struct store *s, const char *within, struct cursor *at, size_t room,
         struct token_list *l)
{
	void *items = NULL;
	size_t n = 0;
	struct token *rows;
	int rc = row_all(s->db, &type, &items, &n, SQL_TOKEN_LIST,
	                 ARGS(V(at->ms), V(at->id), V(STORE_PAGE_MAX)));

	if (rc)
		return rc;
	rows = items;
	if (n) {
		at->ms = rows[n - 1].created_ms;
		snprintf(at->id, sizeof(at->id), "%s", rows[n - 1].id);
	}
	for (size_t i = 0; i < n; i++) {
		if (!room || !token_is_within(rows[i].tenants, within))
			continue;
		l->items[l->n++] = TAKE(rows[i]);
		room--;
	}
	row_free_all(&type, rows, n);
	return (int)n;
}

int
token_list(struct store *s, const char *within, struct page page,
           struct token_list *out)
{
	CLEANUP_TOKENS struct token_list l = {0};
	struct cursor at;
	size_t most;
	int rc = page_check(&page) ?: cursor_parse(page.cursor, &at);

	if (rc)
		return rc;
	most = (size_t)page.limit + 1;
	l.items = calloc(most, sizeof(*l.items));
	if (!l.items)
		return -ENOMEM;
	do
		rc = add_rows(s, within, &at, most - l.n, &l);
	while (rc == STORE_PAGE_MAX && l.n < most);
	if (rc < 0)
		return rc;
	if (l.n == most) {
		const struct token *last = &l.items[page.limit - 1];

		token_done(&l.items[--l.n]);
		rc = cursor_make(last->created_ms, last->id, &l.next);
		if (rc)
			return rc;
	}
	*out = TAKE(l);
	return 0;
}

int
token_revoke(struct store *s, const char *id)
{
	return db_change(s->db, -ENOENT, SQL_TOKEN_REVOKE, ARGS(V(id)));
}

int
token_prune(struct store *s, int64_t max_age_ms)
{
	return db_run(s->db, SQL_TOKEN_PRUNE, ARGS(V(max_age_ms)));
}
