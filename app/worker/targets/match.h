/*
 * The processes that a service's match selects, and those that its tenant may
 * profile.
 */
#pragma once

#include "base/conf.h"
#include "process_table.h"
#include "store/service.h"

#include <regex.h>

struct match {
	enum { MATCH_UNIT, MATCH_EXE, MATCH_PIDFILE, MATCH_CMDLINE } kind;
	char *value;
	regex_t re;  /* for MATCH_CMDLINE */
	int32_t pid; /* for MATCH_PIDFILE, as last read; 0: none */
	/*
	 * For MATCH_EXE: the file to which its symbolic links lead now, and led
	 * before, since a running program is known by the file from which it
	 * was started.
	 */
	char *resolved, *before;
};

/* Reads files that not everybody may read. */
struct match_reader {
	/* Reads the number with which a pid file begins.
	 * Returns 0 or -errno. */
	int (*pid_file)(void *arg, const char *path, int32_t *out);
	void *arg;
};

/*
 * Parses a service's match. The API has checked the row, but it is checked
 * again here, since this process acts on it.
 *
 *   Owns     match_done(out)
 *   Errors   -EINVAL, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int
match_init(const char *kind, const char *value, struct match *out);
void match_done(struct match *m);
/* Keeps the findings of an earlier match of the service, if that is equal. */
void match_keep(struct match *m, struct match *old);
/* Reads the pid file, or follows the links of an executable's path, again; does
 * nothing for other kinds. */
void match_refresh(struct match *m, const struct match_reader *reader);
/* Returns the length of an executable's path, without what the kernel appends
 * once the file was replaced. */
size_t match_exe_len(const char *exe);
/* True for Stoker's own programs, by the names that they are installed under.
 */
bool match_is_own(const struct proc *p);
/* A command line means no program of Stoker's own, and no command that only
 * hands the pattern to one. */
bool match_process(const struct match *m, const struct proc *p);
/*
 * True when a process is within a tenant's scope: its unit or its user is
 * listed, or its executable lies below a listed path. NULL is an empty scope.
 */
bool match_scope(const struct conf_tenant *scope, const struct proc *p);
