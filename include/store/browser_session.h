/*
 * Browsers that have signed in. Each holds a secret, its cookie, of which the
 * store has the SHA-256. A browser session ends at its end time, when it is
 * idle for too long, when its key is revoked, or on request.
 *
 * A sign-in link is a browser session without a cookie yet: until the link is
 * followed, the secret is that of the link.
 */
#pragma once

#include "store/store.h"

#define BROWSER_SESSION_PREFIX     "bs-"
#define SIGN_IN_LINK_PREFIX        "lnk_"       /* of a link's secret */
#define BROWSER_SESSION_COOKIE_MAX (2 * ID_MAX) /* with its NUL */
#define BROWSER_SESSION_TOUCH_MS   60000 /* used_ms is at most this old */
#define BROWSER_SESSIONS_OF_ONE    50    /* of one key or subject */

struct browser_session {
	char *id, *actor, *role;
	char *tenants; /* words separated by spaces */
	char *default_tenant;
	int64_t created_ms, used_ms, expires_ms;
};
#define CLEANUP_BROWSER_SESSION CLEANUP(browser_session_done)

struct browser_session_list {
	struct browser_session *items;
	size_t n;
	char *next;
};
#define CLEANUP_BROWSER_SESSIONS CLEANUP(browser_session_list_done)

/* A request for a browser session; strings are borrowed. */
struct browser_session_ask {
	const char *token; /* key that signs in; "" for a JWT */
	const char *actor, *role, *tenants, *default_tenant;
	int64_t expires_ms;
	int64_t idle_ms;       /* sessions idle for longer are removed */
	int64_t link_until_ms; /* of a link: when it ends; 0: a cookie */
};

void browser_session_done(struct browser_session *b);
void browser_session_list_done(struct browser_session_list *l);

/*
 * Creates a browser session; cookie gets the only copy of its secret, or of the
 * link's. Ends the oldest sessions, or links, of the same actor beyond
 * BROWSER_SESSIONS_OF_ONE. Call it in a transaction.
 */
MUST_CHECK int
browser_session_create(struct store *s, const struct browser_session_ask *ask,
                       char id[static ID_MAX],
                       char cookie[static BROWSER_SESSION_COOKIE_MAX]);
/*
 * Finds the browser session of a cookie, and records its use.
 *   Errors   -ENOENT when there is none, or it has ended
 */
MUST_CHECK int
browser_session_check(struct store *s, const char *cookie, int64_t idle_ms,
                      struct browser_session *out);
/*
 * Finds the browser session that a link opens.
 *   Errors   -ENOENT when the link was followed, or has ended
 */
MUST_CHECK int browser_session_by_link(struct store *s, const char *link,
                                       struct browser_session *out);
/*
 * Follows a link, which is then used up: its browser session gets a cookie.
 * Call it in a transaction.
 *   Errors   as browser_session_by_link()
 */
MUST_CHECK int
browser_session_follow(struct store *s, const char *link,
                       char cookie[static BROWSER_SESSION_COOKIE_MAX]);
/* Lists browser sessions with this default tenant, newest first. */
MUST_CHECK int
browser_session_list(struct store *s, const char *tenant, int64_t idle_ms,
                     struct page page, struct browser_session_list *out);
/* Gives a browser session of a tenant another default tenant; -ENOENT when
 * there is none. */
MUST_CHECK int browser_session_switch(struct store *s, const char *id,
                                      const char *from, const char *to);
/* Ends a browser session of a tenant; -ENOENT when there is none. */
MUST_CHECK int
browser_session_end(struct store *s, const char *id, const char *tenant);
