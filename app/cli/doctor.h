/*
 * stoker doctor: every precondition, and the line that repairs it.
 *
 * A check says what it found, and when that will not do, the exact line a
 * root shell takes. All paths are looked up below one directory, so that
 * tests can show it any machine.
 */
#pragma once

#include "cli.h"
#include "settings.h"

enum verdict { FINE, WARNING, BROKEN, SKIPPED };

struct doctor {
	struct cli *cli;
	int root; /* descriptor of "/" */
	const char *conf_file;
	struct conf conf;
	bool conf_read;
	char conf_why[256];
	/* of doctor_find_worker(), 0: none runs */
	pid_t worker;
	uint64_t worker_caps;
	pid_t fetcher; /* the same */
	struct buf found, fix; /* of the check that runs */
};

struct check {
	const char *name;
	enum verdict (*run)(struct doctor *d);
};
extern const struct check doctor_checks[];
extern const size_t doctor_nchecks;

#define CHECK(function, name) enum verdict check_##function(struct doctor *d);
#include "doctor.def"
#undef CHECK

/* Says what was found, and the line that repairs it. */
void found(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);
void fix(struct doctor *d, const char *fmt, ...) PRINTF(2, 3);

/* Looks for the worker's processes: of them, the one with the most
 * capabilities. */
void doctor_find_worker(struct doctor *d);
/* Runs every check into *out: a list of {check, verdict, found, fix}. */
void doctor_run(struct doctor *d, json_t *out);
/* The list as people read it; true when nothing is broken. */
bool doctor_show(const json_t *list, struct buf *out);

/*
 * A file of the machine below d->root, NUL-terminated.
 *   Errors   -errno; *out as it was
 */
MUST_CHECK int
doctor_read(const struct doctor *d, const char *path, struct buf *out);
/* A whole number in such a file. */
MUST_CHECK int
doctor_number(const struct doctor *d, const char *path, long *out);
/* path without its leading slash: what the *at() calls take. */
const char *below_root(const char *path);
