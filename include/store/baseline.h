/*
 * Baselines: completed sessions with a label, to which later sessions are
 * compared. The session of a baseline can't be deleted, and retention keeps it.
 * The newest baseline of a service and type is its latest.
 */
#pragma once

#include "store/store.h"

#define BASELINE_PREFIX "bl-"

/* A request for a baseline; strings are borrowed. */
struct baseline_ask {
	const char *tenant, *session, *label, *description;
	const char *top_functions; /* JSON array */
	const char *tags;          /* see baseline_tag() */
	const char *created_by;
};

struct baseline {
	char *id, *tenant, *service, *type, *session, *label, *description;
	char *top_functions;
	char *tags; /* "", or tags with line feeds around each: "\na\nb\n" */
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

/* The session for which a baseline is wanted; strings are borrowed. */
struct baseline_of {
	const char *tenant, *service, *type;
	const char *session; /* the session's id */
	int64_t created_ms, ordinal;
};

void baseline_done(struct baseline *b);
void baseline_list_done(struct baseline_list *l);

/* Appends a tag, which must hold no line feed, to a list of tags. */
void baseline_tag(struct buf *tags, const char *tag);

/* Adds a baseline; -ENOENT unless the session exists and is completed. */
MUST_CHECK int baseline_add(struct store *s, const struct baseline_ask *ask,
                            char out[static ID_MAX]);
MUST_CHECK int baseline_get(struct store *s, const char *tenant, const char *id,
                            struct baseline *out);
MUST_CHECK int baseline_list(struct store *s, const struct baseline_filter *f,
                             struct page page, struct baseline_list *out);
MUST_CHECK int
baseline_remove(struct store *s, const char *tenant, const char *id);
/* Finds the newest baseline of a session; -ENOENT without one. */
MUST_CHECK int baseline_of_session(struct store *s, const char *tenant,
                                   const char *session, struct baseline *out);
/* Counts the baselines with the service, type and label of this one. */
MUST_CHECK int
baseline_count_label(struct store *s, const struct baseline *b, int64_t *out);
/* Finds the newest baseline made before a session, of the same processes;
 * -ENOENT without one. */
MUST_CHECK int baseline_before(struct store *s, const struct baseline_of *of,
                               struct baseline *out);
