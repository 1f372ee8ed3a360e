/*
 * Which processes a service's match means, and which of these its tenant
 * may have profiled.
 */
#pragma once

#include "base/conf.h"
#include "process_table.h"
#include "store/service.h"

#include <regex.h>

struct match {
	enum { MATCH_UNIT, MATCH_EXE, MATCH_PIDFILE, MATCH_CMDLINE } kind;
	char *value;
	regex_t re;  /* of MATCH_CMDLINE */
	int32_t pid; /* of MATCH_PIDFILE, as last read; 0: none */
	/* Of MATCH_EXE: where its symbolic links lead now, and led before: a
	 * program that runs is known by the file that it was started from. */
	char *resolved, *before;
};

/* Where files are looked at that are not for everybody. */
struct match_reader {
	/* The number that a pid file begins with; 0 or -errno. */
	int (*pid_file)(void *arg, const char *path, int32_t *out);
	void *arg;
};

/*
 * Understands a service's match. Rows come from the API, yet what they say
 * is checked here again: this process acts on it.
 *
 *   Owns     match_done(out)
 *   Errors   -EINVAL, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int
match_init(const char *kind, const char *value, struct match *out);
void match_done(struct match *m);
/* Takes over from a match of the same service what it has found out, if it is
 * the same. */
void match_keep(struct match *m, struct match *old);
/* Reads the pid file, or follows the links of an executable's path, again;
 * nothing for other kinds. */
void match_refresh(struct match *m, const struct match_reader *reader);
/* A command line means no program of Stoker's own, and no command that only
 * hands the pattern to one. */
bool match_process(const struct match *m, const struct proc *p);
/*
 * True when a process is within a tenant's scope: its unit or its user is
 * listed, or its executable lies below a listed path. NULL is an empty scope.
 */
bool match_scope(const struct conf_scope *scope, const struct proc *p);
