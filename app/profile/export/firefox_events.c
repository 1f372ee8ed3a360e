/* What happened, and what was used: markers and counters. */
#include "base/json_out.h"
#include "firefox_document.h"

#include <stdio.h>
#include <string.h>

/* --- markers -------------------------------------------------------------- */

static const struct {
	const char *name, *text; /* its format: one number */
} events[TIMELINE_EVENT_KINDS] = {
	[TIMELINE_FORK] = {"Fork", "born of process %llu"},
	[TIMELINE_EXEC] = {"Exec", ""},
	[TIMELINE_EXIT] = {"Exit", "process ended"},
	[TIMELINE_LOST] = {"Samples lost", "%llu records"},
	[TIMELINE_THROTTLED] = {"Throttled", "the kernel paused sampling"},
	[TIMELINE_LOWERED] = {"Rate lowered", "to a period of %llu ns"},
	[TIMELINE_FULL] = {"Recording full", "samples end here"},
};

static void
put_marker_data(struct buf *b, const struct timeline_event *e)
{
	char text[TIMELINE_NAME_MAX + 64];

	if (e->kind == TIMELINE_EXEC)
		snprintf(text, sizeof(text), "%.*s", TIMELINE_NAME_MAX,
		         e->name);
	else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), events[e->kind].text,
		         (unsigned long long)e->value);
#pragma GCC diagnostic pop
	json_open(b, NULL, '{');
	json_put_text(b, "type", FX_MARKER);
	json_put_text(b, "text", text);
	json_close(b, '}');
}

int
fx_put_markers(struct document *d, const struct markers *m)
{
	struct buf *b = d->x.out;
	int r = 0;

	json_open(b, "markers", '{');
	json_put_int(b, "length", m->n);
	json_open(b, "name", '[');
	for (uint32_t i = 0; i < m->n && !r; i++) {
		const char *name = events[m->rows[i]->kind].name;
		uint32_t id = 0;

		r = fx_string(&d->x, name, strlen(name), &id);
		json_put_int(b, NULL, id);
	}
	json_close(b, ']');
	json_open(b, "data", '[');
	for (uint32_t i = 0; i < m->n; i++)
		put_marker_data(b, m->rows[i]);
	json_close(b, ']');
	json_open(b, "startTime", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_real(b, NULL, (double)m->rows[i]->time_us / 1e3);
	json_close(b, ']');
	json_open(b, "endTime", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_null(b, NULL);
	json_close(b, ']');
	json_open(b, "phase", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_int(b, NULL, 0); /* an instant */
	json_close(b, ']');
	json_open(b, "category", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_int(b, NULL, FX_OTHER);
	json_close(b, ']');
	json_close(b, '}');
	return r;
}

/* --- counters ------------------------------------------------------------- */

enum counted { RSS, CPU };

static double
counted(const struct timeline_counter *c, enum counted what)
{
	return what == RSS ? (double)c->rss_bytes : (double)c->cpu_us;
}

/* Each count is since the one before, and the first begins at none. */
static void
put_counter_samples(struct document *d, uint32_t from, enum counted what)
{
	const struct timeline *t = d->t;
	struct buf *b = d->x.out;
	double last = what == RSS ? 0 : counted(&t->counters[from], what);
	uint32_t n = 0;

	json_open(b, "samples", '{');
	json_open(b, "time", '[');
	for (uint32_t i = from; i != FX_NONE; i = d->next_counter[i], n++)
		json_put_real(b, NULL, (double)t->counters[i].time_us / 1e3);
	json_close(b, ']');
	json_open(b, "count", '[');
	for (uint32_t i = from; i != FX_NONE; i = d->next_counter[i]) {
		json_put_real(b, NULL, counted(&t->counters[i], what) - last);
		last = counted(&t->counters[i], what);
	}
	json_close(b, ']');
	json_put_int(b, "length", n);
	json_close(b, '}');
}

static void
put_counter(struct document *d, const struct process *p, enum counted what)
{
	static const char *const names[][3] = {
		[RSS] = {"RSS", "Memory", "Resident memory"},
		[CPU] = {"processCPU", "CPU", "CPU time of the process, µs"},
	};
	struct buf *b = d->x.out;
	char text[16];

	snprintf(text, sizeof(text), "%u", p->pid);
	json_open(b, NULL, '{');
	json_put_text(b, "name", names[what][0]);
	json_put_text(b, "category", names[what][1]);
	json_put_text(b, "description", names[what][2]);
	json_put_text(b, "pid", text);
	json_put_int(b, "mainThreadIndex", p->thread);
	put_counter_samples(d, p->counters.first, what);
	json_close(b, '}');
}

void
fx_put_counters(struct document *d)
{
	json_open(d->x.out, "counters", '[');
	for (uint32_t i = 0; i < d->nprocesses; i++) {
		const struct process *p = &d->processes[i];

		if (p->counters.first == FX_NONE)
			continue;
		put_counter(d, p, RSS);
		put_counter(d, p, CPU);
	}
	json_close(d->x.out, ']');
}
