/*
 * API keys. The key itself ("stk_" and 40 characters) is shown once; the
 * store has its SHA-256.
 *
 * A key of role TOKEN_WORKER belongs to the worker of one host. A key of role
 * TOKEN_JOIN can only be traded for such a key, once.
 */
#pragma once

#include "store/store.h"

#define TOKEN_PREFIX     "tok-"
#define TOKEN_KEY_PREFIX "stk_"
#define TOKEN_KEY_MAX    (2 * ID_MAX) /* 44 and a NUL are used */
#define TOKEN_TOUCH_MS   60000        /* last_used_ms is at most this old */

/* values of role, besides those of users */
#define TOKEN_WORKER "worker"
#define TOKEN_JOIN   "join"
/* Default and longest validity of a join key. */
#define TOKEN_JOIN_MS     INT64_C(3600000)
#define TOKEN_JOIN_MAX_MS INT64_C(86400000)

struct token {
	char *id, *name, *role;
	char *tenants; /* words separated by spaces */
	char *default_tenant;
	char *host; /* of a worker; for a join key, the only host that may use
	               it; or "" */
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
	int64_t revoked_ms; /* 0: valid */
	int64_t last_used_ms;
};
#define CLEANUP_TOKEN CLEANUP(token_done)

struct token_list {
	struct token *items;
	size_t n;
	char *next;
};
#define CLEANUP_TOKENS CLEANUP(token_list_done)

/* A request for a token; strings are borrowed. */
struct token_ask {
	const char *name, *role, *tenants, *default_tenant;
	int64_t expires_ms; /* 0: never */
	const char *host;   /* NULL: none */
};

void token_done(struct token *t);
void token_list_done(struct token_list *l);

/* Makes a token; key gets the only copy of its key. */
MUST_CHECK int
token_create(struct store *s, const struct token_ask *ask,
             char id[static ID_MAX], char key[static TOKEN_KEY_MAX]);
/*
 * Finds the token of a key, and records its use.
 *   Errors   -ENOENT unknown key, -EKEYEXPIRED, -EKEYREVOKED
 */
MUST_CHECK int token_check(struct store *s, const char *key, struct token *out);
MUST_CHECK int token_get(struct store *s, const char *id, struct token *out);
/* Lists the valid keys of a host's worker. */
MUST_CHECK int
token_of_host(struct store *s, const char *host, struct token_list *out);
/* True when all of a key's tenants are in a list of tenants, or that is "*". */
bool token_is_within(const char *tenants, const char *within);
/*
 * Lists keys whose tenants are all within a list, newest first. A page and its
 * cursor reveal nothing about other keys; their rows are read and skipped.
 */
MUST_CHECK int token_list(struct store *s, const char *within, struct page page,
                          struct token_list *out);
/* Removes keys that were revoked or have expired more than max_age_ms ago.
 * Returns their number. */
MUST_CHECK int token_prune(struct store *s, int64_t max_age_ms);
/* Revokes a token; -ENOENT if it is unknown or already revoked. */
MUST_CHECK int token_revoke(struct store *s, const char *id);
