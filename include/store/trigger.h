/*
 * Triggers: rules of a service that start a capture. Each firing is a row.
 *
 * A rule fires at most once in its cooldown, by the database's clock and in the
 * transaction that enqueues its capture: a worker that dies has done both or
 * neither. A firing with a webhook waits until its capture has ended; the
 * webhook is then called until it succeeds or the last try fails.
 */
#pragma once

#include "store/store.h"

#define TRIGGER_PREFIX "trg-"
#define FIRING_PREFIX  "fire-"
#define TRIGGER_MAX    32 /* per service */
/* Label of a capture that a trigger started: the trigger's name. */
#define TRIGGER_LABEL "trigger"

enum trigger_kind {
#define TRIGGER(kind, text, number, lowest, highest, count, doc) TRIGGER_##kind,
#include "triggers.def"
#undef TRIGGER
	TRIGGER_KINDS
};
/* Returns "rss", ... */
const char *trigger_kind_name(enum trigger_kind kind);
/* Finds a kind by name; TRIGGER_KINDS for an unknown one. */
enum trigger_kind trigger_kind_of(const char *name);

struct trigger {
	char *id, *tenant, *service, *name;
	char *kind;       /* see trigger_kind_name() */
	char *function;   /* for cpuShare and shift, else "" */
	double threshold; /* in the unit of its kind */
	int64_t minimum;  /* goroutines */
	char *type;       /* profile type to capture */
	int64_t seconds, rate;
	char *webhook; /* "": none */
	int64_t cooldown_ms, enabled;
	char *created_by;
	int64_t created_ms, updated_ms;
	/* set by the worker */
	double value;               /* last reported value */
	int64_t value_ms, fired_ms; /* 0: never */
	char *session;              /* the last firing's session, or "" */
	char *sent;                 /* state of its webhook: see
	                               firing_tried(); "retrying" if it
	                               waits after a try that failed */
};
struct trigger_list {
	struct trigger *items;
	size_t n;
	char *next; /* cursor; NULL on the last page */
};
#define CLEANUP_TRIGGER  CLEANUP(trigger_done)
#define CLEANUP_TRIGGERS CLEANUP(trigger_list_done)

void trigger_done(struct trigger *t);
void trigger_list_done(struct trigger_list *l);

/*
 * Adds a trigger; its id and the members that the worker sets are ignored.
 *   Errors   -ENOENT no such service, -EEXIST the name is taken, -EDQUOT
 *            past TRIGGER_MAX
 */
MUST_CHECK int
trigger_add(struct store *s, const struct trigger *t, char out[static ID_MAX]);
/* Replaces a trigger, found by tenant, service and id. Returns -ENOENT,
 * -EEXIST. */
MUST_CHECK int trigger_replace(struct store *s, const struct trigger *t);
MUST_CHECK int
trigger_get(struct store *s, const char *tenant, const char *service,
            const char *id, struct trigger *out);
/* Lists a service's triggers by name. */
MUST_CHECK int trigger_list(struct store *s, const char *tenant,
                            const char *service, struct trigger_list *out);
/*
 * Lists all triggers of a tenant, by service and name.
 *   Errors   -EINVAL bad cursor or limit
 */
MUST_CHECK int trigger_page(struct store *s, const char *tenant,
                            struct page page, struct trigger_list *out);
/* Lists a tenant's triggers that fired less than age_ms ago, by service. */
MUST_CHECK int trigger_list_fired(struct store *s, const char *tenant,
                                  int64_t age_ms, struct trigger_list *out);
MUST_CHECK int trigger_remove(struct store *s, const char *tenant,
                              const char *service, const char *id);

/* --- the worker's side ---------------------------------------------------- */

/* Lists enabled triggers of services that this host serves. */
MUST_CHECK int
trigger_list_host(struct store *s, const char *host, struct trigger_list *out);
/* Reports a trigger's value. */
MUST_CHECK int trigger_report(struct store *s, const char *id, double value);
/* The time of a shift, with its 95 % interval (profile/shift.h). */
struct trigger_shift {
	int64_t at_ms, earliest_ms, latest_ms;
};
/*
 * Fires a trigger: enqueues its capture, or uses one that already runs.
 *
 *   Shape    shift: NULL unless the trigger has that kind; out gets the
 *            session's id
 *   Errors   -EAGAIN within its cooldown, or when the trigger was deleted or
 *            disabled
 */
MUST_CHECK int
trigger_fire(struct store *s, const struct trigger *t, const char *host,
             double value, const struct trigger_shift *shift,
             char out[static ID_MAX]);

/* A firing whose webhook has to be sent. */
struct firing {
	char *id, *trigger, *tenant, *service, *kind, *function, *url;
	double value, threshold;
	int64_t fired_ms, tries;
	int64_t since_ms, earliest_ms, latest_ms; /* of its shift, else 0 */
	int64_t restart_ms;     /* when a process of the service began next to
	                       the shift; 0: none did */
	char *session, *status; /* those of its capture; "deleted" when the
	                           session is gone */
};
struct firing_list {
	struct firing *items;
	size_t n;
};
#define CLEANUP_FIRINGS CLEANUP(firing_list_done)
void firing_list_done(struct firing_list *l);

/* Lists firings of a host that are due, the oldest first; at most max. */
MUST_CHECK int
firing_due(struct store *s, const char *host, int max, struct firing_list *out);
/* True if any firing is waiting, due or not. */
MUST_CHECK int firing_waits(struct store *s, const char *host, bool *out);
/*
 * Records the outcome of a try.
 *   Shape    state: "sent", "failed" for good, or "waiting" to be tried again
 *            in delay_ms
 */
MUST_CHECK int firing_tried(struct store *s, const char *id, const char *state,
                            int64_t delay_ms);
/* Removes firings that ended more than age_ms ago. */
MUST_CHECK int firing_prune(struct store *s, int64_t age_ms);
