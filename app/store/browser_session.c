#include "store/browser_session.h"

#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/files/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(browser_session, id),
	ROW_FIELD(browser_session, actor),
	ROW_FIELD(browser_session, role),
	ROW_FIELD(browser_session, tenants),
	ROW_FIELD(browser_session, default_tenant),
	ROW_FIELD(browser_session, created_ms),
	ROW_FIELD(browser_session, used_ms),
	ROW_FIELD(browser_session, expires_ms),
};
static const struct row_type type = ROW_TYPE(browser_session, fields);

ROW_DONE(browser_session, type)
ROW_PAGE_DONE(browser_session_list, type)

/* Makes a secret of 200 random bits in the alphabet of ids. */
static void
make_cookie(char out[static BROWSER_SESSION_COOKIE_MAX])
{
	char first[ID_MAX], second[ID_MAX];

	id_new("", first);
	id_new("", second);
	snprintf(out, BROWSER_SESSION_COOKIE_MAX, "%s%s", first, second);
}

/* Removes ended sessions, and the oldest sessions or links of an actor who has
 * too many. */
static int
make_room(struct store *s, const struct browser_session_ask *ask)
{
	const int64_t others = BROWSER_SESSIONS_OF_ONE - 1;

	return db_do(s->db, SQL_BROWSER_SESSION_SWEEP, ARGS(V(ask->idle_ms)))
	               ?: db_do(s->db, SQL_BROWSER_SESSION_CROWD,
	                        ARGS(V(ask->actor), V(ask->link_until_ms),
	                             V(others)));
}

int
browser_session_create(struct store *s, const struct browser_session_ask *ask,
                       char id[static ID_MAX],
                       char cookie[static BROWSER_SESSION_COOKIE_MAX])
{
	char new_cookie[BROWSER_SESSION_COOKIE_MAX], new_id[ID_MAX];
	char hash[DIGEST_CHARS];
	int rc = make_room(s, ask);

	make_cookie(new_cookie);
	id_new(BROWSER_SESSION_PREFIX, new_id);
	if (!rc)
		rc = digest(new_cookie, strlen(new_cookie), hash);
	if (!rc)
		rc = db_do(s->db, SQL_BROWSER_SESSION_INSERT,
		           ARGS(V(new_id), V(hash), V(ask->token),
		                V(ask->actor), V(ask->role), V(ask->tenants),
		                V(ask->default_tenant), V(ask->expires_ms),
		                V(ask->link_until_ms)));
	if (rc)
		return rc;
	memcpy(id, new_id, ID_MAX);
	memcpy(cookie, new_cookie, BROWSER_SESSION_COOKIE_MAX);
	return 0;
}

int
browser_session_check(struct store *s, const char *cookie, int64_t idle_ms,
                      struct browser_session *out)
{
	CLEANUP_BROWSER_SESSION struct browser_session b = {0};
	char hash[DIGEST_CHARS];
	int64_t now;
	int rc = digest(cookie, strlen(cookie), hash);

	if (!rc)
		rc = row_one(s->db, &type, &b, SQL_BROWSER_SESSION_BY_HASH,
		             ARGS(V(hash), V(idle_ms)));
	if (!rc)
		rc = store_now(s, &now);
	if (rc)
		return rc;
	/* A store that is too busy to record the use must not lock anyone
	 * out. */
	if (now - b.used_ms >= BROWSER_SESSION_TOUCH_MS)
		(void)!db_run(s->db, SQL_BROWSER_SESSION_TOUCH, ARGS(V(b.id)));
	*out = TAKE(b);
	return 0;
}

int
browser_session_by_link(struct store *s, const char *link,
                        struct browser_session *out)
{
	char hash[DIGEST_CHARS];
	int rc = digest(link, strlen(link), hash);

	return rc ? rc
	          : row_one(s->db, &type, out, SQL_BROWSER_SESSION_BY_LINK,
	                    ARGS(V(hash)));
}

int
browser_session_follow(struct store *s, const char *link,
                       char cookie[static BROWSER_SESSION_COOKIE_MAX])
{
	char new_cookie[BROWSER_SESSION_COOKIE_MAX];
	char before[DIGEST_CHARS], after[DIGEST_CHARS];
	int rc = digest(link, strlen(link), before);

	make_cookie(new_cookie);
	if (!rc)
		rc = digest(new_cookie, strlen(new_cookie), after);
	if (!rc)
		rc = db_change(s->db, -ENOENT, SQL_BROWSER_SESSION_FOLLOW,
		               ARGS(V(after), V(before)));
	if (!rc)
		memcpy(cookie, new_cookie, BROWSER_SESSION_COOKIE_MAX);
	return rc;
}

int
browser_session_list(struct store *s, const char *tenant, int64_t idle_ms,
                     struct page page, struct browser_session_list *out)
{
	struct cursor at;

	return page_check(&page)
	               ?: cursor_parse(page.cursor, &at)
	               ?: CURSOR_LIST(s->db, &type, "created_ms", page.limit,
	                              out, SQL_BROWSER_SESSION_LIST,
	                              ARGS(V(tenant), V(idle_ms), V(at.ms),
	                                   V(at.id), V(page.limit + 1)));
}

int
browser_session_switch(struct store *s, const char *id, const char *from,
                       const char *to)
{
	return db_change(s->db, -ENOENT, SQL_BROWSER_SESSION_SWITCH,
	                 ARGS(V(to), V(id), V(from)));
}

int
browser_session_end(struct store *s, const char *id, const char *tenant)
{
	return db_change(s->db, -ENOENT, SQL_BROWSER_SESSION_END,
	                 ARGS(V(id), V(tenant)));
}
