#include "match.h"

#include "base/pattern.h"
#include "base/unit.h"
#include "store/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* True for an absolute path without ".", ".." and empty pieces. */
static bool
path_ok(const char *s)
{
	if (*s != '/')
		return false;
	while (*s == '/') {
		size_t n = strcspn(++s, "/");

		if (!n || (n == 1 && s[0] == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += n;
	}
	return true;
}

/* True for the path of an executable, or for "*". */
static bool
exe_ok(const char *s)
{
	return !strcmp(s, "*") || path_ok(s);
}

static bool
pattern_ok(const char *s)
{
	regex_t re;

	if (pattern_compile(s, &re))
		return false;
	regfree(&re);
	return true;
}

/* True for the name of a unit. Source: systemd.unit(5). */
static bool
unit_ok(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	size_t n = strlen(s);

	return n <= 255 && strspn(s, ok) == n && unit_has_type(s);
}

static const struct {
	const char *kind;
	bool (*ok)(const char *value);
	const char *expected;
} rules[] = {
	{"unit", unit_ok,
         "a unit's full name, such as nginx.service, app@1.service, or "
         "app@.service "
         "for every instance"},
	{"exe", exe_ok,
         "the absolute path of an executable, or * for all that the tenant may "
         "profile"},
	{"pidFile", path_ok, "the absolute path of a pid file"},
	{"cmdline", pattern_ok,
         "a POSIX extended regular expression of at most 512 bytes, without "
         "back-references, with one count of up to 100 at most"},
};

/* Writes the value of a match for containers in the form that services keep. */
static int
read_container(const char *kind, const json_t *value, struct match_rule *out)
{
	struct container_match parsed;
	CLEANUP_BUF struct buf text = BUF_INIT(MATCH_MAX_TEXT);
	int rc = 0;

	if (json_is_string(value))
		buf_puts(&text, json_string_value(value));
	else
		rc = json_write(value, &text);
	if (rc || buf_err(&text) ||
	    container_match_is_text(kind) != json_is_string(value) ||
	    container_match_init(kind, buf_str(&text), &parsed))
		return -EINVAL;
	container_match_done(&parsed);
	memcpy(out->text, buf_str(&text), text.len + 1);
	out->kind = kind;
	out->value = out->text;
	return 0;
}

int
match_read(const json_t *match, struct match_rule *out, const char **why)
{
	const char *kind =
		json_object_iter_key(json_object_iter((json_t *)match));

	if (!kind) {
		out->kind = out->value = "";
		return 0;
	}
	*why = "exactly one of unit, exe, pidFile, cmdline, container, image, "
	       "pod, compose, label, otelService";
	if (json_object_size(match) != 1)
		return -EINVAL;
	if (container_match_is(kind)) {
		*why = "a pattern of a container's name or image, or of the "
		       "name in a process context, or an object of patterns: "
		       "namespace, name and container of a "
		       "pod, project and service of compose, or labels";
		return read_container(kind, json_object_get(match, kind), out);
	}
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const json_t *v = json_object_get(match, rules[i].kind);
		const char *s = json_string_value(v);

		if (!s || !*s)
			continue;
		*why = rules[i].expected;
		if (strlen(s) > MATCH_MAX_TEXT || !rules[i].ok(s))
			return -EINVAL;
		out->kind = rules[i].kind;
		out->value = s;
		return 0;
	}
	return -EINVAL;
}

/* True for a path below a prefix, which ends at a '/': "/opt/a" does not allow
 * "/opt/ab". */
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
match_in_scope(const struct match_rule *m, const struct conf_tenant *scope)
{
	if (!*m->kind)
		return true;
	if (!scope)
		return false;
	if (!strcmp(m->kind, "unit"))
		return scope->units && unit_list_means(scope->units, m->value);
	if (!strcmp(m->kind, "exe") && strcmp(m->value, "*") != 0)
		return below_prefix(scope->exe, m->value);
	return true;
}

int
match_of_caller(struct call *c, const char *parameter, const json_t *given,
                struct match_rule *out)
{
	const struct conf_tenant *scope =
		conf_tenant(c->env->conf, c->caller.tenant);
	const char *why = "";

	if (match_read(given, out, &why)) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

		if (json_write(given, &got))
			buf_clear(&got);
		return fail_param(c, parameter, why, buf_str(&got));
	}
	if (match_in_scope(out, scope))
		return 0;
	detail_text(c, "parameter", parameter);
	detail_text(c, "tenant", c->caller.tenant);
	detail_text(c, "match", out->kind);
	return fail(c, ScopeForbidden, out->kind);
}
