/* Writes the body with which a host reports its state to the centre. */
#include "agent_parts.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_out.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define LINE_MAX_BYTES 1024 /* of a command line */
#define TOLD_NS        (60 * NS_PER_S)
#define WAITING_NS     (30 * NS_PER_S)        /* between counts of what waits */
#define TELL_MAX       INT64_C(9999999999999) /* time in ms, as in params.def */

/* --- jobs ----------------------------------------------------------------- */

/* Returns at least 1 % for any progress above 0, by which clients recognize
 * that a capture has begun. */
static int64_t
percent_of(double progress)
{
	int64_t percent = (int64_t)(progress * 100);

	return percent || progress <= 0 ? percent : 1;
}

static const char *
phase_of(const struct agent_held *h)
{
	static const char *const known[] = {"queued", "capturing",
	                                    "symbolizing", "storing"};

	for (size_t i = 0; i < ARRAY_LEN(known) && !agent_has_ended(h); i++)
		if (!strcmp(known[i], h->phase))
			return known[i];
	return agent_has_ended(h) ? "done" : "capturing";
}

static void
put_jobs(const struct agent *a, const struct agent_held_list *l,
         struct buf *out)
{
	size_t busy = 0, room;

	json_open(out, "jobs", '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct agent_held *h = &l->items[i];
		bool sane = h->progress >= 0 && h->progress <= 1;

		busy += !agent_has_ended(h);
		if (h->dropped)
			continue;
		json_open(out, NULL, '{');
		json_put_text(out, "sessionId", h->session);
		json_put_int(out, "attempt", h->attempt);
		json_put_text(out, "phase", phase_of(h));
		json_put_int(out, "percent",
		             sane ? percent_of(h->progress) : 0);
		json_put_int(out, "samples", h->samples > 0 ? h->samples : 0);
		json_close(out, '}');
	}
	json_close(out, ']');
	room = busy < a->max_jobs && l->n < AGENT_FULL ? a->max_jobs - busy : 0;
	json_put_int(out, "room", (int64_t)room);
}

/* --- processes ------------------------------------------------------------ */

/* Writes up to LINE_MAX_BYTES of a text, with spaces for control
 * characters. */
static void
put_line(struct buf *out, const char *key, const char *s)
{
	char line[LINE_MAX_BYTES + 1];
	size_t n = strnlen(s, LINE_MAX_BYTES);

	/* don't cut a character in two */
	while (n && s[n] && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		line[i] = (unsigned char)s[i] < ' ' ? ' ' : s[i];
	line[n] = '\0';
	json_put_text(out, key, line);
}

static void
put_process(struct buf *out, const struct worker_process *p)
{
	json_open(out, NULL, '{');
	json_put_text(out, "tenant", p->tenant);
	json_put_text(out, "service", p->service);
	json_put_int(out, "ordinal", p->ordinal);
	json_put_int(out, "pid", p->pid);
	json_put_int(out, "startTime", p->start_time);
	put_line(out, "argv0", p->argv0);
	put_line(out, "cmdline", p->cmdline);
	json_close(out, '}');
}

static void
put_tree(struct buf *out, const struct process_tree *t)
{
	json_open(out, NULL, '{');
	json_put_text(out, "tenant", t->tenant);
	json_put_text(out, "service", t->service);
	json_put_int(out, "followed", t->followed);
	json_put_int(out, "otherUnit", t->other_unit);
	json_put_int(out, "outOfScope", t->out_of_scope);
	json_put_int(out, "tooMany", t->too_many);
	json_put_int(out, "refused", t->refused);
	json_close(out, '}');
}

/* Writes "processes" and "trees" as far as they fit into a poll. */
static int
write_processes(struct agent *a, struct buf *out)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	CLEANUP_TREES struct process_tree_list trees = {0};
	int rc = agent_processes(a->store, a->host, &l)
	                 ?: agent_trees(a->store, a->host, &trees);

	json_open(out, "processes", '[');
	for (size_t i = 0; i < l.n && out->len < AGENT_POLL_MAX / 2; i++)
		put_process(out, &l.items[i]);
	json_close(out, ']');
	json_open(out, "trees", '[');
	for (size_t i = 0; i < trees.n && out->len < AGENT_POLL_MAX * 3 / 4;
	     i++)
		put_tree(out, &trees.items[i]);
	json_close(out, ']');
	return rc ? rc : buf_err(out);
}

/* Writes the processes if they have changed, and periodically in any case,
 * since the centre may have lost them. */
static int
put_processes(struct agent *a, int64_t now_ns, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(AGENT_POLL_MAX);
	int rc;

	buf_putc(&text, '{');
	rc = write_processes(a, &text);
	if (rc)
		return rc;
	a->polled = hash_bytes(text.p, text.len) | 1;
	if (a->polled == a->processes && now_ns < a->processes_ns) {
		a->polled = 0;
		return 0;
	}
	a->processes_ns = now_ns + TOLD_NS;
	buf_putc(out, ',');
	buf_add(out, text.p + 1, text.len - 1);
	return 0;
}

/* --- the worker ----------------------------------------------------------- */

static void
put_worker(const struct worker *w, struct buf *out)
{
	json_put_text(out, "version", w->version);
	json_put_int(out, "pid", w->pid);
	json_put_raw(out, "capabilities", w->capabilities, "{}");
}

static int
add_waiting(void *arg, const char *tenant)
{
	struct agent *a = arg;

	return block_waiting(a->store, tenant, &a->waiting);
}

static int
look_at_waiting(struct agent *a, int64_t now_ns)
{
	if (now_ns < a->waiting_ns)
		return 0;
	a->waiting_ns = now_ns + WAITING_NS;
	a->waiting = (struct block_waiting){0};
	return agent_tenants(a->store, add_waiting, a);
}

static int64_t
clamp(int64_t v, int64_t max)
{
	return v < 0 ? 0 : v < max ? v : max;
}

/* Writes the time of this host's clock, and how much waits to be sent. */
static int
put_waiting(struct agent *a, const struct agent_held_list *l, int64_t now_ns,
            struct buf *out)
{
	int64_t now_ms = clock_wall_ms(), results = 0;
	int rc = look_at_waiting(a, now_ns);

	for (size_t i = 0; i < l->n; i++)
		results += agent_has_ended(&l->items[i]);
	json_put_int(out, "clockMs", clamp(now_ms, TELL_MAX));
	json_put_int(out, "waitingWindows", a->waiting.windows);
	json_put_int(out, "waitingBytes", a->waiting.bytes);
	json_put_int(out, "waitingResults", results);
	if (a->waiting.first_ms)
		json_put_int(out, "waitingMs",
		             clamp(now_ms - a->waiting.first_ms, TELL_MAX));
	return rc;
}

static int
put_beat(struct agent *a, const struct agent_held_list *l, int64_t now_ns,
         struct buf *out)
{
	CLEANUP_WORKERS struct worker_list workers = {0};
	int rc;

	a->beats = now_ns >= a->beat_ns;
	if (!a->beats)
		return 0;
	rc = worker_list(a->store, "", &workers);
	for (size_t i = 0; i < workers.n && !rc; i++)
		if (!strcmp(workers.items[i].host, a->host))
			put_worker(&workers.items[i], out);
	return rc ? rc : put_waiting(a, l, now_ns, out);
}

int
agent_put_poll(struct agent *a, const struct agent_held_list *l, int64_t now_ns,
               struct buf *out)
{
	int rc;

	json_open(out, NULL, '{');
	json_put_text(out, "host", a->host);
	json_put_text(out, "bootId", a->boot_id);
	json_put_text(out, "generation", a->generation);
	put_jobs(a, l, out);
	if (a->looked)
		json_put_int(out, "looked", a->looked);
	rc = put_beat(a, l, now_ns, out) ?: put_processes(a, now_ns, out);
	json_close(out, '}');
	return rc ? rc : buf_err(out);
}
