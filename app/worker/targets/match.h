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
	enum {
		MATCH_UNIT,
		MATCH_EXE,
		MATCH_PIDFILE,
		MATCH_CMDLINE,
		MATCH_EVERY, /* any program: "exe" is "*" */
		MATCH_CONTAINER,
	} kind;
	char *value;
	regex_t re;                       /* for MATCH_CMDLINE */
	struct container_match container; /* for MATCH_CONTAINER */
	int32_t pid; /* for MATCH_PIDFILE, as last read; 0: none */
	/*
	 * For MATCH_EXE: the file to which its symbolic links lead now, and the
	 * one before, since the kernel knows a running program by the file from
	 * which it was started.
	 */
	char *resolved, *before;
};

/* Reads files that this process may not read itself. */
struct match_reader {
	/* Reads the pid from a pid file. Returns 0 or -errno. */
	int (*pid_file)(void *arg, const char *path, int32_t *out);
	void *arg;
};

/*
 * Parses a service's match. The API has checked the row, but this process acts
 * on it, and checks it again.
 *
 *   Owns     match_done(out)
 *   Errors   -EINVAL, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int
match_init(const char *kind, const char *value, struct match *out);
void match_done(struct match *m);
/* Takes over the findings of the service's earlier match, if it is equal. */
void match_keep(struct match *m, struct match *old);
/* Reads the pid file, or follows the links of an executable's path, again; does
 * nothing for other kinds. */
void match_refresh(struct match *m, const struct match_reader *reader);
/* True for Stoker's own programs, by the names of their installed files. */
bool match_is_own(const struct proc *p);
/* True for a scope that any program is within. */
bool match_is_any(const struct conf_tenant *scope);
/* True if the match selects a process. MATCH_CMDLINE never selects Stoker's own
 * programs, or a command that only passes the pattern to one. */
bool match_process(const struct match *m, const struct proc *p);
/*
 * True if a tenant may know how many processes outside of its scope match. If
 * they match a pattern, the number would give away their command lines, or the
 * labels of their containers, one guess at a time.
 */
bool match_counts_others(const struct match *m);
/*
 * True if a process is within a tenant's scope: its unit, user, container or
 * namespace is listed, or its executable lies below a listed path. NULL is an
 * empty scope.
 *
 * The owner of a Kubernetes namespace chooses the names of containers there,
 * as a user does those of rootless ones: containers lists neither, except as
 * UID:NAME.
 */
bool match_scope(const struct conf_tenant *scope, const struct proc *p);
