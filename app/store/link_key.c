#include "store/link_key.h"

#include "store/files/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINK_KEY_PREFIX "key-"

static int
load(struct store *s, struct link_key *out, enum sql sql,
     const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct link_key k;
	int rc = db_query(s->db, sql, v, n, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	if (!id_valid(LINK_KEY_PREFIX, db_col_text(&rows, 0)) ||
	    hex_decode(db_col_text(&rows, 1), k.secret, sizeof(k.secret)))
		return -EBADMSG;
	snprintf(k.id, sizeof(k.id), "%s", db_col_text(&rows, 0));
	*out = k;
	return 0;
}

static int
make(struct store *s)
{
	char secret[2 * LINK_SECRET_BYTES + 1];
	struct link_key k;
	int rc = link_key_current(s, &k);

	if (rc != -ENOENT) /* another process was first */
		return rc;
	id_new(LINK_KEY_PREFIX, k.id);
	random_bytes(k.secret, sizeof(k.secret));
	hex_encode(k.secret, sizeof(k.secret), secret);
	rc = db_run(s->db, SQL_LINK_KEY_INSERT, ARGS(V(k.id), V(secret)));
	return rc < 0 ? rc : 0;
}

int
link_key_make(struct store *s)
{
	struct link_key k;
	int rc = link_key_current(s, &k);

	if (rc == -ENOENT)
		rc = store_begin(s) ?: store_end(s, make(s));
	return rc;
}

int
link_key_current(struct store *s, struct link_key *out)
{
	return load(s, out, SQL_LINK_KEY_NEWEST, NO_ARGS);
}

int
link_key_get(struct store *s, const char *id, struct link_key *out)
{
	return load(s, out, SQL_LINK_KEY_GET, ARGS(V(id)));
}
