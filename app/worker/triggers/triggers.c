#include "triggers.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/proc_exec.h"
#include "store/session.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TELL_NS (60 * NS_PER_S) /* between two reports of a value */
#define BASE_MS (60 * 60 * MS_PER_S)
#define FAIL_NS (60 * NS_PER_S) /* after an error of the store */
/* Divides SHIFT_ALARMS: a rule looks each minute, mostly at the same
 * minutes. */
#define SHIFT_LOOKS 20
#define MINUTE_MS   (60 * MS_PER_S)

static void
free_rules(struct rule *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		trigger_done(&items[i].row);
		free(items[i].seen);
		free(items[i].minutes);
	}
	free(items);
}

void
triggers_done(struct triggers *t)
{
	free_rules(t->items, t->n);
	t->items = NULL;
	t->n = 0;
}

static struct rule *
find(const struct triggers *t, const char *id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].row.id && !strcmp(t->items[i].row.id, id))
			return &t->items[i];
	return NULL;
}

/* --- the rules ------------------------------------------------------------ */

static void
take_over(const struct triggers *t, struct rule *r, int64_t now_ns)
{
	struct rule *old = find(t, r->row.id);
	int64_t left_ms = r->row.fired_ms + r->row.cooldown_ms -
	                  clock_wall_ms();

	if (r->row.fired_ms && left_ms > 0)
		r->quiet_ns = now_ns + left_ms * NS_PER_MS;
	if (!old)
		return;
	r->reported_ns = old->reported_ns;
	r->seen = TAKE(old->seen);
	r->nseen = old->nseen;
	r->seen_ns = old->seen_ns;
	r->minutes = TAKE(old->minutes);
	r->nminutes = old->nminutes;
}

int
triggers_load(struct triggers *t, int64_t now_ns)
{
	CLEANUP_TRIGGERS struct trigger_list l = {0};
	struct rule *items;
	int rc = trigger_list_host(t->watches->store, t->watches->host, &l);

	if (rc)
		return rc;
	items = calloc(l.n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < l.n; i++) {
		items[i].row = TAKE(l.items[i]);
		take_over(t, &items[i], now_ns);
	}
	free_rules(t->items, t->n);
	t->items = items;
	t->n = l.n;
	return 0;
}

/* --- firing --------------------------------------------------------------- */

static void
fire(struct triggers *t, struct rule *r, double value,
     const struct trigger_shift *shift, int64_t now_ns)
{
	char session[ID_MAX];
	int rc = trigger_fire(t->watches->store, &r->row, t->watches->host,
	                      value, shift, session);

	if (rc == -EAGAIN) /* according to the store, the cooldown is not
	                      over */
		return;
	if (rc) {
		log_warn("trigger %s of %s: %s", r->row.name, r->row.service,
		         rc == -EXFULL ? "a quota of its tenant is used up"
		                       : strerror(-rc));
		r->quiet_ns = now_ns + FAIL_NS;
		return;
	}
	log_info("%s: trigger %s of %s, %s %g, at least %g", session,
	         r->row.name, r->row.service, r->row.kind, value,
	         r->row.threshold);
	r->quiet_ns = now_ns + r->row.cooldown_ms * NS_PER_MS;
	r->reported_ns = now_ns;
	t->fired = true;
}

/* shift: NULL unless the value is that of a shift */
static void
judge_as(struct triggers *t, struct rule *r, double value,
         const struct trigger_shift *shift, int64_t now_ns)
{
	int rc = 0;

	if (value >= r->row.threshold && now_ns >= r->quiet_ns) {
		fire(t, r, value, shift, now_ns);
	} else if (!r->reported_ns || now_ns - r->reported_ns > TELL_NS) {
		r->reported_ns = now_ns;
		rc = trigger_report(t->watches->store, r->row.id, value);
	}
	if (rc)
		log_warn("trigger %s: %s", r->row.name, strerror(-rc));
}

static void
judge(struct triggers *t, struct rule *r, double value, int64_t now_ns)
{
	judge_as(t, r, value, NULL, now_ns);
}

static bool
is(const struct rule *r, enum trigger_kind kind)
{
	return !strcmp(r->row.kind, trigger_kind_name(kind));
}

static bool
is_of(const struct rule *r, const char *tenant, const char *service)
{
	return !strcmp(r->row.service, service) &&
	       !strcmp(r->row.tenant, tenant);
}

/* --- processes ------------------------------------------------------------ */

static bool
usage_of(const struct triggers *t, int32_t pid, struct rule_usage *out,
         uint64_t *pages)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	out->pid = pid;
	return !proc_read_stat(*t->proc_fd, pid, &text) &&
	       !proc_parse_usage(buf_str(&text), &out->ticks, pages);
}

/* Returns the CPU time that a process used since the last look; 0 if it is
 * new. */
static uint64_t
used(const struct rule *r, const struct rule_usage *now)
{
	for (size_t i = 0; i < r->nseen; i++)
		if (r->seen[i].pid == now->pid)
			return now->ticks > r->seen[i].ticks
			               ? now->ticks - r->seen[i].ticks
			               : 0;
	return 0;
}

static void
look(struct triggers *t, struct rule *r, int64_t now_ns)
{
	struct rule_usage *now = calloc(WORKER_MAX_PIDS, sizeof(*now));
	int64_t elapsed_ns = now_ns - r->seen_ns;
	uint64_t ticks = 0, pages = 0, more;
	struct followed f;
	bool first = !r->seen_ns;
	size_t n = 0;

	targets_followed(t->targets, r->row.tenant, r->row.service,
	                 SESSION_ALL_ORDINALS, &f);
	for (size_t i = 0; now && i < f.n; i++) {
		if (!usage_of(t, f.pids[i], &now[n], &more))
			continue;
		pages += more;
		ticks += used(r, &now[n++]);
	}
	free(r->seen);
	r->seen = now;
	r->nseen = n;
	r->seen_ns = now_ns;
	if (is(r, TRIGGER_rss))
		judge(t, r, (double)pages * (double)sysconf(_SC_PAGESIZE),
		      now_ns);
	else if (!first && elapsed_ns > 0)
		judge(t, r,
		      100.0 * (double)ticks / (double)sysconf(_SC_CLK_TCK) /
		              ((double)elapsed_ns / NS_PER_S),
		      now_ns);
}

void
triggers_step(struct triggers *t, int64_t now_ns)
{
	if (now_ns < t->next_ns)
		return;
	t->next_ns = now_ns + t->watches->conf->trigger_interval * NS_PER_S;
	for (size_t i = 0; i < t->n; i++) {
		struct rule *r = &t->items[i];

		if (is(r, TRIGGER_rss) || is(r, TRIGGER_cpu))
			look(t, r, now_ns);
	}
}

/* --- windows -------------------------------------------------------------- */

/* Returns the oldest value of the last hour; 0 if there is only one, or
 * none. */
static int64_t
value_before(struct triggers *t, const char *series)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int64_t now = clock_wall_ms();

	if (window_between(t->watches->store, series, WINDOW_CAPTURED,
	                   now - BASE_MS, now, &l) ||
	    l.n < 2)
		return 0;
	return l.items[0].value;
}

void
triggers_window(struct triggers *t, const char *tenant, const char *service,
                const char *series, int64_t value, int64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++) {
		struct rule *r = &t->items[i];
		int64_t before;

		if (!is(r, TRIGGER_goroutineGrowth) ||
		    !is_of(r, tenant, service) || value < r->row.minimum)
			continue;
		before = value_before(t, series);
		if (before > 0)
			judge(t, r, (double)value / (double)before, now_ns);
	}
}

static const struct watch *
watch_of(const struct watches *w, const char *series)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->items[i].series, series))
			return &w->items[i];
	return NULL;
}

size_t
triggers_functions(const struct triggers *t, const char *series,
                   const char *names[static ROLLUP_MAX_FUNCTIONS],
                   char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX])
{
	const struct watch *v = watch_of(t->watches, series);
	size_t n = 0;

	for (size_t i = 0; v && i < t->n && n < ROLLUP_MAX_FUNCTIONS; i++) {
		const struct rule *r = &t->items[i];

		if (!(is(r, TRIGGER_cpuShare) || is(r, TRIGGER_shift)) ||
		    !is_of(r, v->tenant, v->service))
			continue;
		snprintf(ids[n], ID_MAX, "%s", r->row.id);
		names[n++] = r->row.function;
	}
	return n;
}

/* --- shifts --------------------------------------------------------------- */

/* Forgets the minutes before a time. */
static void
forget_before(struct rule *r, int64_t ms)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nminutes; i++)
		if (r->minutes[i].start_ms >= ms)
			r->minutes[n++] = r->minutes[i];
	r->nminutes = n;
}

/* Adds a minute; a late one is left out. */
static int
add_minute(struct rule *r, const struct rollup_share *s)
{
	struct shift_bin *last;

	if (!r->minutes)
		r->minutes = calloc(SHIFT_BINS, sizeof(*r->minutes));
	if (!r->minutes)
		return -ENOMEM;
	last = r->nminutes ? &r->minutes[r->nminutes - 1] : NULL;
	if (last && s->start_ms < last->end_ms)
		return -EALREADY;
	if (r->nminutes == SHIFT_BINS)
		forget_before(r, r->minutes[1].start_ms);
	r->minutes[r->nminutes++] = (struct shift_bin){
		.start_ms = s->start_ms,
		.end_ms = s->start_ms + MINUTE_MS,
		.cost = s->percent / 100 * (double)s->samples,
		.of = (double)s->samples,
	};
	return 0;
}

/* Returns the mean cost of the minutes of a level. */
static double
cost_of(const struct rule *r, int64_t from_ms, int64_t to_ms)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < r->nminutes; i++) {
		const struct shift_bin *b = &r->minutes[i];

		if (b->start_ms < from_ms || b->start_ms >= to_ms)
			continue;
		sum += b->cost;
		n++;
	}
	return n > 0 ? sum / n : 0;
}

/* Returns by which factor the function's cost rose at the last shift, by share
 * or by time, whichever rose less: when another function costs less, the share
 * rises alone. */
static double
times(const struct rule *r, const struct shift *s)
{
	double before = cost_of(r, s->before_ms, s->at_ms);
	double after = cost_of(r, s->at_ms, s->after_ms);
	double most = s->before > 0 && before > 0
	                      ? fmin(s->after / s->before, after / before)
	                      : HUGE_VAL;

	return fmin(most, 1000); /* the function is new */
}

/* Judges the last shift of the minutes. If it fires, the minutes before it are
 * forgotten, so that it fires once. */
static void
judge_shift(struct triggers *t, struct rule *r, int64_t now_ns)
{
	struct shifts found;
	const struct shift *last;
	bool fired = t->fired;
	char at[RFC3339_LEN], from[RFC3339_LEN], to[RFC3339_LEN];

	if (shift_find(r->minutes, r->nminutes, SHIFT_SHARE,
	               SHIFT_ALARMS / SHIFT_LOOKS, &found))
		return;
	if (!found.n)
		return judge(t, r, 1, now_ns);
	last = &found.items[found.n - 1];
	t->fired = false;
	judge_as(t, r, times(r, last),
	         &(struct trigger_shift){last->at_ms, last->earliest_ms,
	                                 last->latest_ms},
	         now_ns);
	if (!t->fired) {
		t->fired = fired;
		return;
	}
	clock_format(last->at_ms, at);
	clock_format(last->earliest_ms, from);
	clock_format(last->latest_ms, to);
	log_info("trigger %s of %s: %s costs more since %s (between %s and %s)",
	         r->row.name, r->row.service, r->row.function, at, from, to);
	forget_before(r, last->at_ms);
}

void
triggers_share(struct triggers *t, const char *id,
               const struct rollup_share *share, int64_t now_ns)
{
	struct rule *r = find(t, id);

	if (!r)
		return;
	if (!is(r, TRIGGER_shift))
		judge(t, r, share->percent, now_ns);
	else if (!add_minute(r, share))
		judge_shift(t, r, now_ns);
}
