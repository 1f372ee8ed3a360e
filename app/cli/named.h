/*
 * Profiles, baselines, keys and triggers by the words of a command line.
 *
 * A PROFILE is one of
 *
 *	sess-..., win-...	an id, or the beginning of just one
 *	@last, @last:SERVICE	the newest complete profile, of all or of a
 *				service
 *	@last~N, @last~N:SERVICE	the Nth before that
 *	SERVICE			the newest complete one of that service, of a
 *				type that is asked for
 *
 * With --type, @last counts only profiles of that type.
 */
#pragma once

#include "cli.h"

#include "base/id.h"

/*
 * The id of the profile that a word names. A word that is no id is told to
 * the user with what it stands for.
 *
 *   Shape    type: of the profile that a service's name stands for; NULL:
 *            names of services are refused, and @last is the newest profile
 *            even if it failed or still runs
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int profile_named(struct cli *c, const char *word, const char *type,
                             char out[static ID_MAX]);
/* The type that --type says, or cpu. */
const char *type_asked(const struct cli *c);
/* Names of the items of a list. */
struct kind_named {
	const char *what;      /* "API key" */
	const char *prefix;    /* of their ids */
	const char *id, *name; /* members of an item */
	bool newest;           /* a name that several have is the newest's */
};
/*
 * The item of a list, newest first, that a word names: by its id, the
 * beginning of just one id, or its name.
 *
 *   Owns     *out is borrowed from items
 *   Errors   an exit status, told to the user
 */
MUST_CHECK int item_named(const json_t *items, const struct kind_named *kind,
                          const char *word, const json_t **out);
