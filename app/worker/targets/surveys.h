/*
 * Answers surveys: lists the processes that a match would select, before a
 * service uses it. Only processes within the tenant's scope are listed. Others
 * are counted, but not for a match of every program, nor for one with patterns,
 * with which their command lines or labels could be guessed. The worker does
 * not trust the API, which writes the rows: a match is checked again, and a pid
 * file is read as for a service.
 */
#pragma once

#include "base/clock.h"
#include "match.h"
#include "store/survey.h"

#define SURVEY_MAX_PROCESSES 500      /* in one answer */
#define SURVEY_MAX_COMMAND   200      /* bytes of a command line */
#define SURVEYS_NS           NS_PER_S /* after this time the rest waits */

/*
 * Answers surveys that wait for this host, at least one.
 *   Errors   -ENOMEM; errors of the store
 */
MUST_CHECK int
surveys_answer(struct store *s, const struct survey_list *l,
               const struct conf *conf, const struct match_reader *reader,
               const struct proc_table *procs);
