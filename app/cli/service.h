/* Services, for other commands. */
#pragma once

#include "cli.h"
#include "program.h"

#define EVERY_PROGRAM  "*"    /* the exe of a match, */
#define SERVICE_OF_ALL "host" /* and the name of the match's service */

/* Makes {"exe": …} from the option that selects processes; an empty object if
 * none is given. Prints an error and returns an exit status on failure. */
MUST_CHECK int match_of(const struct options *o, json_t **out);
/* Appends the texts of a match, with "/" between them. */
void match_title(const json_t *match, struct buf *out);
/*
 * Finds a service that has a match, or adds one, named after title, if a
 * process matches or --wait-for-process is given.
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int
service_for(struct cli *c, const json_t *match, const char *title,
            char out[static SERVICE_NAME_MAX]);
/* Allows the worker what --allow names, in addition to what the service allows
 * already. Prints an error and returns an exit status on failure. */
MUST_CHECK int service_allow_more(struct cli *c, const char *name);
/* Appends the path of a service in the API. */
void service_path(struct buf *out, const char *name);
/* True for a service of all programs of a host; false for NULL. */
bool service_is_of_all(const json_t *service);
/* Lists the services of the tenant; NULL if that fails. */
json_t *services_list(struct cli *c);
