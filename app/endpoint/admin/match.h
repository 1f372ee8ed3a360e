/*
 * How a service's processes are known, and whether its tenant may say so.
 */
#pragma once

#include "base/conf.h"
#include "base/json.h"

#define MATCH_MAX_TEXT 1000

struct match_rule {
	const char *kind, *value; /* both "" for none; borrowed */
};

/*
 * Reads {"unit": ...} and its like; NULL or {} is no rule.
 *   Errors   -EINVAL, with what was expected in *why; *out untouched
 */
MUST_CHECK int
match_read(const json_t *match, struct match_rule *out, const char **why);
/*
 * True when the scope lets the rule through: its unit or its exe is listed.
 * A pattern or a pid file may lead anywhere: with these, as with any rule,
 * the worker holds each process it finds against the scope.
 *   Shape    scope NULL: the tenant may name nothing
 */
bool match_in_scope(const struct match_rule *m, const struct conf_scope *scope);
