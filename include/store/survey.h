/*
 * Surveys: what a match selects on each host, asked before there is a service
 * of it. The API asks, the workers answer, and the API forgets the survey. One
 * that nobody forgot is removed by a later one, or by a worker.
 */
#pragma once

#include "store/store.h"

#define SURVEY_PREFIX   "sv-"
#define SURVEY_WAIT_MS  5000  /* older ones are not answered any more */
#define SURVEY_KEEP_MS  60000 /* older ones are removed */
#define SURVEYS_AT_ONCE 8     /* that a worker answers with one look */

/* A host's part of a survey. */
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
 * Asks the workers that are alive: of one host, or of all where host is "".
 *   Errors   -EHOSTDOWN when there is none
 */
MUST_CHECK int
survey_ask(struct store *s, const char *tenant, const char *match_kind,
           const char *match_value, const char *host, char id[static ID_MAX]);
/* Reads what was answered so far, by host. */
MUST_CHECK int
survey_read(struct store *s, const char *id, struct survey_list *out);
/* Removes a survey, and those that are older than SURVEY_KEEP_MS. */
MUST_CHECK int survey_forget(struct store *s, const char *id);

/* --- the worker's side ---------------------------------------------------- */

/* Lists the surveys that a host's worker has not answered, oldest first. */
MUST_CHECK int
survey_waiting(struct store *s, const char *host, struct survey_list *out);
/* Answers; one that was forgotten meanwhile is none of the worker's business.
 */
MUST_CHECK int
survey_answer(struct store *s, const struct survey *v, const char *found);
