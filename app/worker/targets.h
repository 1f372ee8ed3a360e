/*
 * Services and their processes: each matched process has an ordinal, which
 * it keeps until it exits. Free ordinals are filled from below, in order of
 * start time, and so are the first.
 */
#pragma once

#include "capture/snapshot.h"
#include "match.h"
#include "store/store.h"

#define TARGET_SLOTS 256 /* processes of one service */

struct slot {
	int32_t pid; /* 0: free */
	uint64_t start_time;
	uint64_t text; /* hash of the command line, shown with it */
};

struct target {
	char *tenant, *service;
	int64_t created_ms;  /* of the service */
	bool valid;          /* false: its match makes no sense */
	enum snapshot_of of; /* as its kind says */
	struct match match;
	struct slot now[TARGET_SLOTS];
	struct slot shown[TARGET_SLOTS]; /* as the database has it */
};

struct targets {
	const char *host, *boot_id;
	struct target *items; /* by tenant and service */
	uint64_t stamp;       /* changes with the services */
	size_t n;
};

void targets_done(struct targets *t);
struct target *
targets_find(const struct targets *t, const char *tenant, const char *service);
/* Reads the services again; those that stay keep their processes. */
MUST_CHECK int targets_load(struct targets *t, struct store *s);
/* Takes up the ordinals that this host's last worker gave. */
MUST_CHECK int targets_restore(struct targets *t, struct store *s);
/* Finds out who has which ordinal now. */
void targets_match(struct targets *t, const struct conf *conf,
                   const struct proc_table *procs);
/* Writes what changed since the last time. */
MUST_CHECK int targets_publish(struct targets *t, struct store *s,
                               const struct proc_table *procs);
/* Whose stacks a snapshot of it is to have. */
enum snapshot_of
targets_of(const struct targets *t, const char *tenant, const char *service);
/* The pids of a service, or of one of its ordinals; the number of them. */
size_t
targets_pids(const struct targets *t, const char *tenant, const char *service,
             int64_t ordinal, int32_t *out, size_t max);
