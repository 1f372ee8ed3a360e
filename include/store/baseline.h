/*
 * Baselines: completed sessions with a label, that later ones are held
 * against. A baseline keeps its session: it can't be deleted, and retention
 * passes it over. The newest of a service and type is its latest.
 */
#pragma once

#include "store/store.h"

#define BASELINE_PREFIX "bl-"

/* What one is made of; strings are borrowed. */
struct baseline_ask {
	const char *tenant, *session, *label, *description;
	const char *top_functions; /* JSON array */
	const char *tags;          /* see baseline_tag() */
	const char *created_by;
};

struct baseline {
	char *id, *tenant, *service, *type, *session, *label, *description;
	char *top_functions;
	char *tags; /* "" or each between line feeds: "\na\nb\n" */
	char *created_by;
	int64_t created_ms, is_latest;
};
#define CLEANUP_BASELINE CLEANUP(baseline_done)

struct baseline_list {
	struct baseline *items;
	size_t n;
	char *next; /* cursor, NULL on the last page */
};
#define CLEANUP_BASELINES CLEANUP(baseline_list_done)

struct baseline_filter {
	const char *tenant;
	const char *service, *type, *label, *tag; /* "": any */
};

/* Whose counts a session's are comparable with; strings are borrowed. */
struct baseline_of {
	const char *tenant, *service, *type;
	const char *session; /* itself */
	int64_t created_ms, ordinal;
};

void baseline_done(struct baseline *b);
void baseline_list_done(struct baseline_list *l);

/* Appends a tag to a list of them; it must hold no line feed. */
void baseline_tag(struct buf *tags, const char *tag);

/* -ENOENT unless the session is there and completed. */
MUST_CHECK int baseline_add(struct store *s, const struct baseline_ask *ask,
                            char out[static ID_MAX]);
MUST_CHECK int baseline_get(struct store *s, const char *tenant, const char *id,
                            struct baseline *out);
MUST_CHECK int baseline_list(struct store *s, const struct baseline_filter *f,
                             struct page page, struct baseline_list *out);
MUST_CHECK int
baseline_remove(struct store *s, const char *tenant, const char *id);
/* The newest that holds a session; -ENOENT when none does. */
MUST_CHECK int baseline_of_session(struct store *s, const char *tenant,
                                   const char *session, struct baseline *out);
/* How many baselines of its service and type have the label of this one. */
MUST_CHECK int
baseline_count_label(struct store *s, const struct baseline *b, int64_t *out);
/* The newest made before a session, of the same processes; -ENOENT. */
MUST_CHECK int baseline_before(struct store *s, const struct baseline_of *of,
                               struct baseline *out);
