/*
 * stoker doctor: checks every precondition, and prints a command that fixes
 * each one that is not met.
 *
 * A probe reports what it found and, if that is a problem, the exact command
 * for a root shell. All paths are looked up below one directory, so that tests
 * can present any machine. The API and the workers check their own needs;
 * doctor shows their findings.
 */
#pragma once

#include "base/finding.h"
#include "cli.h"
#include "settings.h"

struct doctor {
	struct cli *cli;
	int root; /* descriptor of "/" */
	const char *conf_file;
	struct conf conf;
	bool conf_read;
	char conf_why[256];
	unsigned at;  /* the kinds of probes that can run here */
	bool no_api;  /* no API runs on this host, and none need run */
	bool silent;  /* the server does not answer */
	bool strange; /* the server is another installation's */
	/* Set by doctor_find_worker(); 0: not running. */
	pid_t worker, fetcher;
	pid_t strange_worker;  /* of another installation; 0 if worker is set */
	struct buf found, fix; /* of the current probe */
};

enum doctor_where { HOST = 1, PART = 2, ANYWHERE = 4 };

struct probe {
	const char *name;
	unsigned where; /* places where it is run */
	enum verdict (*run)(struct doctor *d);
};
extern const struct probe doctor_probes[];
extern const size_t doctor_nprobes;

#define PROBE(function, where, name) \
	enum verdict probe_##function(struct doctor *d);
#include "doctor.def"
#undef PROBE

/* Append to the finding, and to the command that repairs it. */
void found(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);
void fix(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);

/* Returns how many ms this clock is ahead of the server's; 0 if the reply has
 * no time. */
int64_t doctor_clock_ahead(const struct http_reply *r);

/* Finds the worker that holds the lock of this store, or else a worker that may
 * hold it, and its fetcher. */
void doctor_find_worker(struct doctor *d);
/* Runs every probe into *out, a list of {check, verdict, found, fix}, and
 * adds the findings that the server publishes. */
void doctor_run(struct doctor *d, json_t *out);
/* Adds a row to a list of findings. */
void doctor_add(json_t *out, const char *name, const char *verdict,
                const char *found, const char *fix);
/* Adds the findings of the API and the workers. */
void doctor_ask_server(struct doctor *d, json_t *out);
/* Adds the hosts of the fleet that are silent or lag. */
void doctor_ask_hosts(struct doctor *d, json_t *out);
/* Appends the list for people. Returns true if nothing is broken. */
bool doctor_show(const json_t *list, const struct screen *s, struct buf *out);

/*
 * Reads a file below d->root.
 *   Errors   -errno; *out as it was
 */
MUST_CHECK int
doctor_read(const struct doctor *d, const char *path, struct buf *out);
/* Returns path without its leading slash, for the *at() calls. */
const char *below_root(const char *path);
