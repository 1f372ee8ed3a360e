/*
 * stoker doctor: every precondition, and the line that repairs it.
 *
 * A probe says what it found, and when that will not do, the exact line a
 * root shell takes. All paths are looked up below one directory, so that
 * tests can show doctor any machine. The API and the workers try by
 * themselves what they need; doctor shows their findings.
 */
#pragma once

#include "base/finding.h"
#include "cli.h"
#include "settings.h"

#define CLOCK_MAX_S 5 /* by which clocks may differ */

struct doctor {
	struct cli *cli;
	int root; /* descriptor of "/" */
	const char *conf_file;
	struct conf conf;
	bool conf_read;
	char conf_why[256];
	bool remote;           /* the server is another host */
	bool no_api;           /* none runs, and none is needed */
	bool silent;           /* the server does not answer */
	pid_t worker, fetcher; /* of doctor_find_worker(); 0: none runs */
	struct buf found, fix; /* of the probe that runs */
};

enum doctor_where { HOST, ANYWHERE };

struct probe {
	const char *name;
	enum doctor_where where;
	enum verdict (*run)(struct doctor *d);
};
extern const struct probe doctor_probes[];
extern const size_t doctor_nprobes;

#define PROBE(function, where, name) \
	enum verdict probe_##function(struct doctor *d);
#include "doctor.def"
#undef PROBE

/* Says what was found, and the line that repairs it. */
void found(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);
void fix(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);

/* Looks for a process of the worker, and for its fetcher. */
void doctor_find_worker(struct doctor *d);
/* True when the URL names another host than this one. */
bool doctor_is_remote(const char *url);
/* Runs every probe into *out, a list of {check, verdict, found, fix}, and
 * adds the findings that the server publishes. */
void doctor_run(struct doctor *d, json_t *out);
/* Adds a row to such a list. */
void doctor_add(json_t *out, const char *name, const char *verdict,
                const char *found, const char *fix);
/* Adds what the API and the workers found out about themselves. */
void doctor_ask_server(struct doctor *d, json_t *out);
/* Adds the hosts of the fleet that are silent, lag, or have a wrong clock. */
void doctor_ask_hosts(struct doctor *d, json_t *out);
/* The list as people read it; true when nothing is broken. */
bool doctor_show(const json_t *list, const struct screen *s, struct buf *out);

/*
 * A file of the machine below d->root, NUL-terminated.
 *   Errors   -errno; *out as it was
 */
MUST_CHECK int
doctor_read(const struct doctor *d, const char *path, struct buf *out);
/* path without its leading slash: what the *at() calls take. */
const char *below_root(const char *path);
