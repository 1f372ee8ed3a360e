/*
 * The rule that finds a service's processes, and the check that its tenant may
 * use it.
 */
#pragma once

#include "base/conf.h"
#include "base/json.h"
#include "endpoint/call.h"

#define MATCH_MAX_TEXT 1000

struct match_rule {
	const char *kind, *value;  /* both are "" without a rule; borrowed */
	char text[MATCH_MAX_TEXT]; /* memory for a value that is an object */
};

/*
 * Reads {"unit": ...} and similar rules; NULL or {} means no rule.
 *   Errors   -EINVAL, with the expectation in *why; *out untouched
 */
MUST_CHECK int
match_read(const json_t *match, struct match_rule *out, const char **why);
/*
 * True when the scope allows the rule: its unit or its exe is listed. A
 * pattern, a pid file or any exe is always allowed here, since the worker
 * compares every process that it finds with the scope.
 *   Shape    scope is NULL when the tenant may name nothing
 */
bool
match_in_scope(const struct match_rule *m, const struct conf_tenant *scope);
/*
 * Reads a rule that a caller gives, and checks it with the tenant's scope.
 *   Errors   -1 with the reply: InvalidParameter, which names the parameter,
 *            or ScopeForbidden
 */
MUST_CHECK int match_of_caller(struct call *c, const char *parameter,
                               const json_t *given, struct match_rule *out);
