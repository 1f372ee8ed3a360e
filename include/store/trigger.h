/*
 * Triggers: rules of a service that start a capture, and what came of each
 * time that one fired.
 *
 * A rule fires at most once in its cooldown, by the database's clock and in
 * the transaction that enqueues its capture: a worker that dies in between
 * has done both or neither. A firing with a webhook waits until its capture
 * has ended and is then sent, until that went well or was tried often enough.
 */
#pragma once

#include "store/store.h"

#define TRIGGER_PREFIX "trg-"
#define FIRING_PREFIX  "fire-"
#define TRIGGER_MAX    32 /* of one service */
/* Label of a capture that a trigger started: the trigger's name. */
#define TRIGGER_LABEL "trigger"

enum trigger_kind {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) TRIGGER_##kind,
#include "triggers.def"
#undef TRIGGER
	TRIGGER_KINDS
};
/* "rss", ... */
const char *trigger_kind_name(enum trigger_kind kind);
/* TRIGGER_KINDS for a name of none. */
enum trigger_kind trigger_kind_of(const char *name);

struct trigger {
	char *id, *tenant, *service, *name;
	char *kind;       /* of trigger_kind_name() */
	char *function;   /* of cpuShare, else "" */
	double threshold; /* in the unit of its kind */
	int64_t minimum;  /* goroutines */
	char *type;       /* what is captured */
	int64_t seconds, rate;
	char *webhook; /* "": none */
	int64_t cooldown_ms, enabled;
	char *created_by;
	int64_t created_ms, updated_ms;
	/* the worker's */
	double value;               /* as last told */
	int64_t value_ms, fired_ms; /* 0: never */
	char *session;              /* of the last firing, or "" */
	char *sent;                 /* of its webhook: see struct firing */
};
struct trigger_list {
	struct trigger *items;
	size_t n;
};
#define CLEANUP_TRIGGER  CLEANUP(trigger_done)
#define CLEANUP_TRIGGERS CLEANUP(trigger_list_done)

void trigger_done(struct trigger *t);
void trigger_list_done(struct trigger_list *l);

/*
 * A new one; its id and what is the worker's are not read.
 *   Errors   -ENOENT no such service, -EEXIST the name is taken, -EDQUOT
 *            past TRIGGER_MAX
 */
MUST_CHECK int
trigger_add(struct store *s, const struct trigger *t, char out[static ID_MAX]);
/* By tenant, service and id: all but these. -ENOENT, -EEXIST. */
MUST_CHECK int trigger_replace(struct store *s, const struct trigger *t);
MUST_CHECK int
trigger_get(struct store *s, const char *tenant, const char *service,
            const char *id, struct trigger *out);
/* Of a service, by name. */
MUST_CHECK int trigger_list(struct store *s, const char *tenant,
                            const char *service, struct trigger_list *out);
MUST_CHECK int trigger_remove(struct store *s, const char *tenant,
                              const char *service, const char *id);

/* --- the worker's side ---------------------------------------------------- */

/* Those that are enabled, of services that this host serves. */
MUST_CHECK int
trigger_list_host(struct store *s, const char *host, struct trigger_list *out);
/* Tells its value. */
MUST_CHECK int trigger_tell(struct store *s, const char *id, double value);
/*
 * Fires it: enqueues its capture, or joins one that already runs.
 *
 *   Shape    out: the capture's id
 *   Errors   -EAGAIN within its cooldown, or when it is gone or disabled
 */
MUST_CHECK int
trigger_fire(struct store *s, const struct trigger *t, const char *host,
             double value, char out[static ID_MAX]);

/* A firing whose webhook is to be sent. */
struct firing {
	char *id, *trigger, *tenant, *service, *kind, *function, *url;
	double value, threshold;
	int64_t fired_ms, tries;
	char *session, *status; /* of its capture, "deleted" if it is gone */
};
struct firing_list {
	struct firing *items;
	size_t n;
};
#define CLEANUP_FIRINGS CLEANUP(firing_list_done)
void firing_list_done(struct firing_list *l);

/* Those of a host that are due, the oldest first; at most max. */
MUST_CHECK int
firing_due(struct store *s, const char *host, int max, struct firing_list *out);
/* True while there are some that wait, due or not. */
MUST_CHECK int firing_waits(struct store *s, const char *host, bool *out);
/*
 * What came of a try.
 *   Shape    state: "sent", "failed" for good, or "waiting": again in
 *            delay_ms
 */
MUST_CHECK int firing_tried(struct store *s, const char *id, const char *state,
                            int64_t delay_ms);
/* Forgets firings that ended longer ago. */
MUST_CHECK int firing_prune(struct store *s, int64_t age_ms);
