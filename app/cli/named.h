/*
 * Profiles, baselines, keys and triggers by the words of a command line.
 *
 * A PROFILE is one of
 *
 *	sess-..., win-...	an id, or the beginning of just one
 *	@last, @last:SERVICE	the newest complete profile, of all or of a
 *				service
 *	@last~N, @last~N:SERVICE	the Nth before that
 *	SERVICE			the newest complete one of that service, of the
 *				type that the command is for
 *
 * With --type, @last counts only profiles of that type.
 */
#pragma once

#include "cli.h"

#include "base/id.h"

/*
 * Finds the id of the profile that a word names. Unless the word is an id,
 * prints which profile it stands for.
 *
 *   Shape    type is the type of profile for which a service's name stands. If
 *            it is NULL, names of services are refused, and @last is the
 *            newest profile even if it failed or still runs
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int profile_named(struct cli *c, const char *word, const char *type,
                             char out[static ID_MAX]);
/* Returns the type given by --type, or "cpu". */
const char *type_asked(const struct cli *c);
/* How the items of a list are named. */
struct kind_named {
	const char *what;      /* "API key" */
	const char *prefix;    /* of their ids */
	const char *id, *name; /* members of an item */
	bool newest; /* a name that several items share means the newest */
};
/*
 * Finds the item that a word names by its id, the beginning of exactly one id,
 * or its name. The list is newest first.
 *
 *   Owns     *out points into items
 *   Errors   prints an error and returns an exit status
 */
MUST_CHECK int item_named(const json_t *items, const struct kind_named *kind,
                          const char *word, const json_t **out);
