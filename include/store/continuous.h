/*
 * What is to be profiled all the time: one row per service.
 */
#pragma once

#include "base/json.h"
#include "store/store.h"

struct continuous {
	char *tenant, *service;
	char *types; /* JSON array of profile types */
	char *created_by;
	int64_t sample_rate, retention_days, enabled; /* enabled: 0 or 1 */
	int64_t created_ms, updated_ms;
};
struct continuous_list {
	struct continuous *items;
	size_t n;
};
#define CLEANUP_CONTINUOUS      CLEANUP(continuous_done)
#define CLEANUP_CONTINUOUS_LIST CLEANUP(continuous_list_done)

/* What can't be taken on a host, and why. */
struct continuous_problem {
	char *tenant, *service, *type, *host;
	char *code, *message; /* of an error reply; "": there is none */
	int64_t since_ms;
};
struct continuous_problem_list {
	struct continuous_problem *items;
	size_t n;
};
#define CLEANUP_CONTINUOUS_PROBLEMS CLEANUP(continuous_problem_list_done)

/* How continuous profiling goes on a host: the rows of continuous_host.def. */
enum continuous_host_state {
#define HOST_STATE(id, name) CONTINUOUS_HOST_##id,
#include "store/continuous_host.def"
	CONTINUOUS_HOST_STATES
};
struct continuous_host {
	enum continuous_host_state state;
#define HOST_FIGURE(member, key, metric, kind, meaning) int64_t member;
#include "store/continuous_host.def"
};

void continuous_done(struct continuous *c);
void continuous_list_done(struct continuous_list *l);

/* Creates or replaces; its two times are not read. -ENOENT: no service. */
MUST_CHECK int continuous_put(struct store *s, const struct continuous *c);
MUST_CHECK int continuous_get(struct store *s, const char *tenant,
                              const char *service, struct continuous *out);
/* All of a tenant, or of everybody when tenant is "", by name. */
MUST_CHECK int continuous_list(struct store *s, const char *tenant,
                               struct continuous_list *out);
MUST_CHECK int
continuous_delete(struct store *s, const char *tenant, const char *service);

/* --- how it goes on a host: the worker publishes it ----------------------- */

const char *continuous_host_state_name(enum continuous_host_state state);
/* Appends all of it as members of a JSON object. */
void continuous_host_put(const struct continuous_host *h, struct buf *out);
/* The reverse, of what another release may have written: an unknown state is
 * idle, and a figure that is missing is 0. */
void continuous_host_read(const json_t *j, struct continuous_host *out);

/* --- what can't be taken: the worker tells -------------------------------- */

void continuous_problem_list_done(struct continuous_problem_list *l);
/* Of one service, or all of a tenant's when it is "". */
MUST_CHECK int continuous_problem_list(struct store *s, const char *tenant,
                                       const char *service,
                                       struct continuous_problem_list *out);
/* In place of what was told before; with code "" nothing is told any more.
 * -ENOENT: no service. */
MUST_CHECK int
continuous_problem_put(struct store *s, const struct continuous_problem *p);
/* For a worker that starts. */
MUST_CHECK int continuous_problem_forget(struct store *s, const char *host);
