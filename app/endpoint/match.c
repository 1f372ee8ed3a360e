#include "match.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* An absolute path without "." and ".." pieces. */
static bool
path_ok(const char *s)
{
	return *s == '/' && s[1] && !strstr(s, "/../") && !strstr(s, "/./") &&
	       !strstr(s, "//");
}

static bool
intervals_ok(const char *pattern)
{
	int n = 0;

	for (const char *s = strchr(pattern, '{'); s; s = strchr(s + 1, '{')) {
		char *end;

		if (++n > MATCH_MAX_INTERVALS ||
		    strtoul(s + 1, &end, 10) > MATCH_MAX_REPEATS ||
		    (*end == ',' &&
		     strtoul(end + 1, NULL, 10) > MATCH_MAX_REPEATS))
			return false;
	}
	return true;
}

static bool
pattern_ok(const char *s)
{
	regex_t re;

	if (strlen(s) > MATCH_MAX_PATTERN || !intervals_ok(s) ||
	    regcomp(&re, s, REG_EXTENDED | REG_NOSUB))
		return false;
	regfree(&re);
	return true;
}

/* Source: systemd.unit(5). */
static bool
unit_ok(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	size_t n = strlen(s);

	return n <= 255 && strspn(s, ok) == n && strchr(s, '.');
}

static const struct {
	const char *kind;
	bool (*ok)(const char *value);
	const char *expected;
} rules[] = {
	{"unit", unit_ok, "a unit's full name, as nginx.service"},
	{"exe", path_ok, "the absolute path of an executable"},
	{"pidFile", path_ok, "the absolute path of a pid file"},
	{"cmdline", pattern_ok,
         "an extended regular expression of at most 256 bytes and two "
         "intervals up to 255"},
};

int
match_read(const json_t *match, struct match_rule *out, const char **why)
{
	if (json_object_size(match) == 0) {
		*out = (struct match_rule){"", ""};
		return 0;
	}
	*why = "exactly one of unit, exe, pidFile, cmdline, a text";
	if (json_object_size(match) != 1)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const json_t *v = json_object_get(match, rules[i].kind);
		const char *s = json_string_value(v);

		if (!s || !*s)
			continue;
		*why = rules[i].expected;
		if (strlen(s) > MATCH_MAX_TEXT || !rules[i].ok(s))
			return -EINVAL;
		*out = (struct match_rule){rules[i].kind, s};
		return 0;
	}
	return -EINVAL;
}

/* A prefix ends at a '/': "/opt/a" does not let "/opt/ab" through. */
static bool
below_prefix(const char *list, const char *path)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");

		if ((n == 1 && *list == '*') ||
		    (!strncmp(list, path, n) &&
		     (list[n - 1] == '/' || path[n] == '/' || !path[n])))
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

bool
match_in_scope(const struct match_rule *m, const struct conf_scope *scope)
{
	if (!*m->kind)
		return true;
	if (!scope)
		return false;
	if (!strcmp(m->kind, "unit"))
		return conf_list_has(scope->units, m->value);
	if (!strcmp(m->kind, "exe"))
		return below_prefix(scope->exe, m->value);
	return true;
}
