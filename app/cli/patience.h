/* Starting profiles that wait for a process of their service. */
#pragma once

#include "cli.h"

struct patience {
	const char *service; /* the caller's */
	bool has_option;     /* the command knows --wait-for-process */
	int64_t end_ns;
	bool noted;
};

/* Starts the time that --wait-for-process allows. */
struct patience
patience_of(const struct cli *c, const char *service, bool has_option);
/*
 * Posts the body that starts a profile. Repeats this while the service matches
 * no process and time is left.
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int patience_start(struct cli *c, struct patience *p,
                              const json_t *body, struct http_reply *out);
/*
 * Pauses, and returns true if the processes that the server knew had ended
 * before the capture of this result began, and time is left.
 */
MUST_CHECK bool
patience_again(const struct cli *c, struct patience *p, const json_t *result);
