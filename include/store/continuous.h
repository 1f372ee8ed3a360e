/*
 * Services that are profiled continuously, one row each.
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

/* A profile type that can't be captured on a host, and the reason. */
struct continuous_problem {
	char *tenant, *service, *type, *host;
	char *code, *message; /* as in an error reply; "": no problem */
	int64_t since_ms;
};
struct continuous_problem_list {
	struct continuous_problem *items;
	size_t n;
};
#define CLEANUP_CONTINUOUS_PROBLEMS CLEANUP(continuous_problem_list_done)

/* The state of continuous profiling on a host: the rows of
 * continuous_host.def. */
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
/* True if types has this one, whether or not c is enabled. */
bool continuous_has_type(const struct continuous *c, const char *name);

/* Creates or replaces a row; the times in c are ignored. Returns -ENOENT when
 * there is no such service. */
MUST_CHECK int continuous_put(struct store *s, const struct continuous *c);
MUST_CHECK int continuous_get(struct store *s, const char *tenant,
                              const char *service, struct continuous *out);
/* Lists the rows of a tenant, or of all tenants when tenant is "", by service
 * name. */
MUST_CHECK int continuous_list(struct store *s, const char *tenant,
                               struct continuous_list *out);
MUST_CHECK int
continuous_delete(struct store *s, const char *tenant, const char *service);

/* --- the state of a host, which its worker publishes ---------------------- */

const char *continuous_host_state_name(enum continuous_host_state state);
/* Appends all figures as members of a JSON object. */
void continuous_host_put(const struct continuous_host *h, struct buf *out);
/* Reads what continuous_host_put() wrote, perhaps in another release: an
 * unknown state counts as idle, and a missing figure as 0. */
void continuous_host_read(const json_t *j, struct continuous_host *out);

/* --- problems, which the worker reports ----------------------------------- */

void continuous_problem_list_done(struct continuous_problem_list *l);
/* Lists the problems of one service, or of all of a tenant's when service is
 * "". */
MUST_CHECK int continuous_problem_list(struct store *s, const char *tenant,
                                       const char *service,
                                       struct continuous_problem_list *out);
/* Replaces a problem; an empty code removes it. Returns -ENOENT when there is
 * no such service. */
MUST_CHECK int
continuous_problem_put(struct store *s, const struct continuous_problem *p);
/* Removes all problems of a host, whose worker is starting. */
MUST_CHECK int continuous_problem_forget(struct store *s, const char *host);
