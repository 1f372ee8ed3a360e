#include "match.h"

#include "base/file.h"
#include "base/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PID_FILE_MAX 64
#define DELETED      " (deleted)" /* after the path of a replaced program */

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
	int rc, k = kind_of(kind);

	if (k < 0)
		return k;
	m.kind = (unsigned)k;
	if ((k == MATCH_EXE || k == MATCH_PIDFILE) && *value != '/')
		return -EINVAL;
	rc = k == MATCH_CMDLINE ? pattern_compile(value, &m.re) : 0;
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
	free(m->value);
	*m = (struct match){0};
}

/* Any file may be named: a fifo must not block, a device not be touched. */
static int
open_regular(const char *path)
{
	CLEANUP_FD int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	return TAKE_FD(fd);
}

void
match_refresh(struct match *m)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PID_FILE_MAX);
	CLEANUP_FD int fd = -1;
	char *end;
	long pid;

	if (m->kind != MATCH_PIDFILE)
		return;
	m->pid = 0;
	fd = open_regular(m->value);
	if (fd < 0 || fd_read_all(fd, &text))
		return;
	pid = strtol(buf_str(&text), &end, 10);
	if (end != buf_str(&text) && pid > 0 && pid <= INT32_MAX &&
	    strspn(end, " \t\r\n") == strlen(end))
		m->pid = (int32_t)pid;
}

static bool
is_unit(const char *wanted, const char *unit)
{
	size_t n = strlen(wanted);

	return !strcmp(wanted, unit) ||
	       (!strchr(wanted, '.') && !strncmp(wanted, unit, n) &&
	        !strcmp(unit + n, ".service"));
}

static size_t
exe_len(const char *exe)
{
	size_t n = strlen(exe), k = strlen(DELETED);

	return n > k && !strcmp(exe + n - k, DELETED) ? n - k : n;
}

bool
match_process(const struct match *m, const struct proc *p)
{
	size_t n = exe_len(p->exe);

	switch (m->kind) {
	case MATCH_UNIT:
		return is_unit(m->value, p->unit);
	case MATCH_EXE:
		return strlen(m->value) == n && !memcmp(m->value, p->exe, n);
	case MATCH_PIDFILE:
		return m->pid == p->pid;
	case MATCH_CMDLINE:
		return *p->cmdline && pattern_matches(&m->re, p->cmdline);
	}
	return false;
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

bool
match_scope(const struct conf_scope *scope, const struct proc *p)
{
	char uid[16];

	if (!scope)
		return false;
	snprintf(uid, sizeof(uid), "%u", p->uid);
	return (scope->units && *p->unit &&
	        conf_list_has(scope->units, p->unit)) ||
	       (scope->uids && conf_list_has(scope->uids, uid)) ||
	       (scope->exe && *p->exe && is_below(scope->exe, p->exe));
}
