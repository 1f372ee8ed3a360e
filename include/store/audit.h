/*
 * The audit log: a line per change that names who made it, written in the
 * change's transaction.
 */
#pragma once

#include "store/store.h"

struct audit {
	char *id, *tenant, *actor, *action, *target, *request_id;
	char *detail; /* JSON object */
	int64_t at_ms;
};

struct audit_list {
	struct audit *items;
	size_t n;
	char *next;
};
#define CLEANUP_AUDITS CLEANUP(audit_list_done)

void audit_list_done(struct audit_list *l);
/* Adds a line. The store sets id and at_ms; every other string must be set. */
MUST_CHECK int audit_add(struct store *s, const struct audit *a);
/* Lists lines newest first; those with a text in any of their members, in upper
 * or lower case. text may be "". */
MUST_CHECK int audit_list(struct store *s, const char *tenant, const char *text,
                          struct page page, struct audit_list *out);
/* Counts the lines of the last within_ms that have a's tenant, actor and
 * action; "" is any action. */
MUST_CHECK int audit_recent(struct store *s, const struct audit *a,
                            int64_t within_ms, int64_t *out);
/* Removes lines older than max_age_ms. */
MUST_CHECK int audit_prune(struct store *s, int64_t max_age_ms);
