/*
 * Surveys: the processes that a match would select on each host, before there
 * is a service. The API adds a survey, the workers answer, and the API removes
 * it. A survey left behind is removed by a later one, or by a worker.
 */
#pragma once

#include "store/store.h"

#define SURVEY_PREFIX   "sv-"
#define SURVEY_WAIT_MS  5000  /* older surveys are no longer answered */
#define SURVEY_KEEP_MS  60000 /* older ones are removed */
#define SURVEYS_AT_ONCE 8     /* answered by a worker with one look */

/* The part of a survey for one host. */
struct survey {
	char *id, *host, *tenant;
	char *match_kind, *match_value; /* as of a service; "": all processes */
	char *found; /* the worker's answer, JSON; "": it has not answered */
};
struct survey_list {
	struct survey *items;
	size_t n;
};
#define CLEANUP_SURVEY CLEANUP(survey_list_done)

void survey_list_done(struct survey_list *l);

/*
 * Asks the live worker of one host, or all live workers if host is "".
 *   Errors   -EHOSTDOWN without a live worker
 */
MUST_CHECK int
survey_ask(struct store *s, const char *tenant, const char *match_kind,
           const char *match_value, const char *host, char id[static ID_MAX]);
/* Reads the answers so far, by host. */
MUST_CHECK int
survey_read(struct store *s, const char *id, struct survey_list *out);
/* Removes a survey, and surveys older than SURVEY_KEEP_MS. */
MUST_CHECK int survey_forget(struct store *s, const char *id);

/* --- the worker's side ---------------------------------------------------- */

/* Lists surveys that a host's worker has not answered: the oldest of each
 * tenant first. */
MUST_CHECK int
survey_waiting(struct store *s, const char *host, struct survey_list *out);
/* Stores an answer; a survey removed meanwhile is not an error. */
MUST_CHECK int
survey_answer(struct store *s, const struct survey *v, const char *found);
