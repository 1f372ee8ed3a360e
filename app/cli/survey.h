/*
 * What a match selects now, from a survey of the hosts: the processes, or the
 * units and programs that come near it and have processes.
 *
 * The server surveys for administrators only. Functions append nothing if it
 * does not answer.
 */
#pragma once

#include "cli.h"

/* Appends the processes that a match selects now, or that there are none and
 * what comes near; name is the service's. */
void survey_show(struct cli *c, const json_t *match, const char *name,
                 struct buf *out);
/* Appends only what comes near, indented. match is text, such as
 * "unit=nginx.service". */
void survey_near_show(struct cli *c, const char *match, const char *name,
                      struct buf *out);
