/*
 * The processes that a match selects now, from a survey of the hosts; if there
 * are none, similar units and programs that have processes.
 *
 * The server surveys for administrators only. survey_show() and
 * survey_near_show() append nothing if it does not answer.
 */
#pragma once

#include "cli.h"

/* Surveys all hosts; a match of NULL selects all processes. *out, a list of
 * hosts, is the caller's. Prints an error and returns an exit status. */
MUST_CHECK int survey_fetch(struct cli *c, const json_t *match, json_t **out);
/* True if a worker has answered a survey. */
bool survey_answered(const json_t *hosts);
/* Returns how many processes match. */
json_int_t survey_matching(const json_t *hosts);
/* Returns the processes of a host of a survey; borrowed. */
const json_t *survey_processes(const json_t *host);
/*
 * Appends the processes that a match selects now. If there are none, appends
 * that and near matches, or that no worker answers. command is the command
 * that would take a near match, without options, such as "stoker service set
 * web".
 */
void survey_show(struct cli *c, const json_t *match, const char *command,
                 struct buf *out);
/*
 * Appends only the near matches. match is text, such as "unit=nginx.service".
 */
void survey_near_show(struct cli *c, const char *match, const char *command,
                      struct buf *out);
/* Appends the command that profiles the busiest program of all hosts, and the
 * program's CPU use; nothing if all are idle. Takes as long as stoker ps. */
void ps_busiest(struct cli *c, struct buf *out);
/* Returns LEAVE_OK if a process matches, or if the server does not survey for
 * the caller. Otherwise prints an error, with near matches if a worker has
 * answered, and returns an exit status. */
MUST_CHECK int
survey_need(struct cli *c, const json_t *match, const char *command);
