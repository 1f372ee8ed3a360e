#include "match.h"

#include "base/path.h"
#include "base/pattern.h"
#include "base/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
kind_of(const char *kind)
{
	static const char *const kinds[] = {
		[MATCH_UNIT] = "unit",
		[MATCH_EXE] = "exe",
		[MATCH_PIDFILE] = "pidFile",
		[MATCH_CMDLINE] = "cmdline",
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return (int)i;
	return -EINVAL;
}

int
match_init(const char *kind, const char *value, struct match *out)
{
	struct match m = {0};
	bool container = container_match_is(kind);
	int rc, k = container ? MATCH_CONTAINER : kind_of(kind);

	if (k < 0)
		return k;
	m.kind = (unsigned)k;
	if (k == MATCH_EXE && !strcmp(value, "*"))
		m.kind = MATCH_EVERY;
	else if ((k == MATCH_EXE || k == MATCH_PIDFILE) && *value != '/')
		return -EINVAL;
	rc = k == MATCH_CMDLINE ? pattern_compile(value, &m.re)
	     : container ? container_match_init(kind, value, &m.container)
	                 : 0;
	if (rc)
		return rc;
	m.value = strdup(value);
	if (!m.value) {
		match_done(&m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void
match_done(struct match *m)
{
	if (m->kind == MATCH_CMDLINE)
		regfree(&m->re);
	container_match_done(&m->container);
	free(m->value);
	free(m->resolved);
	free(m->before);
	*m = (struct match){0};
}

/* Resolves links, since the kernel reports the file from which a program was
 * started. */
static void
resolve(struct match *m)
{
	char *now = realpath(m->value, NULL);

	if (!now || (m->resolved && !strcmp(now, m->resolved))) {
		free(now);
		return;
	}
	free(m->before);
	m->before = m->resolved;
	m->resolved = now;
}

void
match_keep(struct match *m, struct match *old)
{
	if (m->kind != MATCH_EXE || old->kind != MATCH_EXE ||
	    strcmp(m->value, old->value) != 0)
		return;
	m->resolved = TAKE(old->resolved);
	m->before = TAKE(old->before);
}

void
match_refresh(struct match *m, const struct match_reader *reader)
{
	if (m->kind == MATCH_EXE)
		resolve(m);
	if (m->kind == MATCH_PIDFILE &&
	    reader->pid_file(reader->arg, m->value, &m->pid))
		m->pid = 0;
}

static bool
is_exe(const char *path, const struct proc *p)
{
	size_t n = proc_path_len(p->exe);

	return path && strlen(path) == n && !memcmp(path, p->exe, n);
}

bool
match_is_own(const struct proc *p)
{
	static const char *const names[] = {"stoker", "stoker-api",
	                                    "stoker-worker"};
	const char *name = path_name(p->exe);
	size_t n = proc_path_len(name);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return true;
	return false;
}

/* True for a command that passes the pattern to stoker, such as a shell or sudo
 * that runs "stoker service add NAME --cmdline PATTERN". */
static bool
gives_pattern(const struct match *m, const struct proc *p)
{
	const char *option = strstr(p->cmdline, "--cmdline");

	return option && strstr(option, m->value);
}

static bool
is_cmdline(const struct match *m, const struct proc *p)
{
	return *p->cmdline && pattern_matches(&m->re, p->cmdline) &&
	       !match_is_own(p) && !gives_pattern(m, p);
}

bool
match_process(const struct match *m, const struct proc *p)
{
	switch (m->kind) {
	case MATCH_UNIT:
		return unit_means(m->value, p->unit);
	case MATCH_EXE:
		return is_exe(m->value, p) || is_exe(m->resolved, p) ||
		       is_exe(m->before, p);
	case MATCH_PIDFILE:
		return m->pid == p->pid;
	case MATCH_CMDLINE:
		return is_cmdline(m, p);
	case MATCH_EVERY:
		return *p->exe || *p->cmdline;
	case MATCH_CONTAINER:
		return proc_matches(p, &m->container) &&
		       (*p->exe || *p->cmdline);
	}
	return false;
}

bool
match_counts_others(const struct match *m)
{
	return m->kind != MATCH_CMDLINE && m->kind != MATCH_EVERY &&
	       m->kind != MATCH_CONTAINER;
}

bool
match_is_any(const struct conf_tenant *scope)
{
	return scope && scope->exe && !strcmp(scope->exe, "*");
}

static bool
is_below(const char *list, const char *exe)
{
	size_t n;

	if (!strcmp(list, "*"))
		return true;
	for (; *(list += strspn(list, " ")); list += n) {
		size_t bare;

		n = strcspn(list, " ");
		bare = n && list[n - 1] == '/' ? n - 1 : n;
		if (!strncmp(list, exe, bare) &&
		    (exe[bare] == '/' || (!exe[bare] && bare == n)))
			return true;
	}
	return false;
}

static bool
is_listed(const struct conf_tenant *scope, const struct container *c)
{
	const char *space = container_fact(&c->facts, CONTAINER_NAMESPACE),
		   *name = container_fact(&c->facts, CONTAINER_NAME);
	char own[CONTAINER_TEXT + 16];

	if (*space)
		return !c->owner &&
		       container_list_has(scope->namespaces, space);
	if (!c->owner)
		return container_list_has(scope->containers, name);
	snprintf(own, sizeof(own), "%u:%s", c->owner, name);
	return container_list_has(scope->containers, own);
}

bool
match_scope(const struct conf_tenant *scope, const struct proc *p)
{
	char uid[16];

	if (!scope)
		return false;
	snprintf(uid, sizeof(uid), "%u", p->uid);
	return (scope->units && *p->unit &&
	        unit_list_means(scope->units, p->unit)) ||
	       (scope->uids && conf_list_has(scope->uids, uid)) ||
	       (scope->exe && *p->exe && is_below(scope->exe, p->exe)) ||
	       (p->container && is_listed(scope, p->container));
}
