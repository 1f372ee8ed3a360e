#include "surveys.h"

#include "base/json_out.h"
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEPTH_MAX 64 /* most ancestors that are followed */

/* The cost of a listed process and of the processes it stands for. */
struct usage {
	uint64_t ticks; /* CPU time */
	int64_t processes;
};

/* State while a survey is answered. */
struct search {
	const struct proc_table *procs;
	const struct conf_tenant *scope;
	struct match match;
	bool all;            /* no match: lists all that may be profiled */
	struct usage *usage; /* by process of the table */
	uint32_t *found;     /* processes of the table that match */
	struct buf *out;
	int64_t matching, refused;
};

/* True if another process of the same program and unit started this one: a
 * list of all processes has only the topmost. */
static bool
is_worker_of_one(const struct search *s, const struct proc *p)
{
	const struct proc *parent = proc_table_find(s->procs, p->parent);

	return parent && match_scope(s->scope, parent) &&
	       !strcmp(parent->exe, p->exe) && !strcmp(parent->unit, p->unit) &&
	       parent->container == p->container;
}

static bool
is_wanted(const struct search *s, const struct proc *p)
{
	return s->all ? !is_worker_of_one(s, p) && !match_is_own(p)
	              : match_process(&s->match, p);
}

/* Returns the process that is listed for p: its topmost ancestor of the same
 * program and unit, or p. */
static const struct proc *
listed_for(const struct search *s, const struct proc *p)
{
	for (int i = 0; s->all && i < DEPTH_MAX && is_worker_of_one(s, p); i++)
		p = proc_table_find(s->procs, p->parent);
	return p;
}

static int
add_usage(struct search *s)
{
	s->usage = calloc(s->procs->n + 1, sizeof(*s->usage));
	s->found = calloc(s->procs->n + 1, sizeof(*s->found));
	if (!s->usage || !s->found)
		return -ENOMEM;
	for (size_t i = 0; i < s->procs->n; i++) {
		const struct proc *p = &s->procs->items[i];
		struct usage *u;

		if (!match_scope(s->scope, p))
			continue;
		u = &s->usage[listed_for(s, p) - s->procs->items];
		u->ticks += proc_table_ticks(s->procs, p->pid);
		u->processes++;
	}
	return 0;
}

/* Returns for how long a process has run. */
static double
age_s(const struct proc *p)
{
	const double began_s = (double)p->start_time /
	                       (double)sysconf(_SC_CLK_TCK);
	struct timespec now;
	double age;

	clock_gettime(CLOCK_BOOTTIME, &now);
	age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - began_s;
	return age > 0 ? age : 0;
}

/* Writes a process, with its executable as a match would name it, even if the
 * file was replaced. */
static void
put_process(struct buf *out, const struct proc *p, const struct usage *u)
{
	char command[SURVEY_MAX_COMMAND + 1], exe[PATH_MAX];

	snprintf(command, sizeof(command), "%s", p->cmdline);
	snprintf(exe, sizeof(exe), "%.*s", (int)proc_path_len(p->exe), p->exe);
	json_open(out, NULL, '{');
	json_put_int(out, "pid", p->pid);
	json_put_text(out, "unit", p->unit);
	json_put_text(out, "executable", exe);
	json_put_text(out, "command", command);
	for (int i = 0; i < CONTAINER_FACTS; i++)
		json_put_text(out, container_fact_names[i], proc_fact(p, i));
	json_put_int(out, "processes", u->processes);
	json_put_real(out, "cpuSeconds",
	              (double)u->ticks / (double)sysconf(_SC_CLK_TCK));
	json_put_real(out, "ageSeconds", age_s(p));
	json_close(out, '}');
}

static void
look_at(struct search *s, uint32_t i)
{
	const struct proc *p = &s->procs->items[i];
	bool ours = match_scope(s->scope, p);
	bool others = !s->all && match_counts_others(&s->match);

	if ((!*p->exe && !*p->cmdline) || /* a kernel thread, or a zombie */
	    !(ours || others) || !is_wanted(s, p))
		return;
	if (ours)
		s->found[s->matching++] = i;
	else
		s->refused++;
}

static int
by_ticks(const void *a, const void *b, void *arg)
{
	const struct usage *usage = arg;
	uint64_t x = usage[*(const uint32_t *)a].ticks;
	uint64_t y = usage[*(const uint32_t *)b].ticks;

	return (x < y) - (x > y);
}

/* Writes the matching processes or, if there are too many, those that used
 * most CPU time, and the totals. */
static int
find(struct search *s)
{
	int rc = add_usage(s);
	int64_t n;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < s->procs->n; i++)
		look_at(s, i);
	n = s->matching;
	if (n > SURVEY_MAX_PROCESSES) {
		qsort_r(s->found, (size_t)n, sizeof(*s->found), by_ticks,
		        s->usage);
		n = SURVEY_MAX_PROCESSES;
	}
	json_open(s->out, NULL, '{');
	json_open(s->out, "processes", '[');
	for (int64_t i = 0; i < n; i++)
		put_process(s->out, &s->procs->items[s->found[i]],
		            &s->usage[s->found[i]]);
	json_close(s->out, ']');
	json_put_int(s->out, "matching", s->matching);
	json_put_int(s->out, "outOfScope", s->refused);
	json_close(s->out, '}');
	return buf_err(s->out);
}

static int
answer(struct store *store, const struct survey *v, struct search *s,
       const struct match_reader *reader)
{
	CLEANUP_BUF struct buf found = BUF_INIT(BUF_MAX_REPLY);
	int rc = 0;

	s->all = !*v->match_kind;
	s->out = &found;
	if (!s->all)
		rc = match_init(v->match_kind, v->match_value, &s->match);
	if (rc) /* the API would not have written such a match */
		return rc == -ENOMEM ? rc : survey_answer(store, v, "{}");
	if (!s->all)
		match_refresh(&s->match, reader);
	rc = find(s);
	free(TAKE(s->usage));
	free(TAKE(s->found));
	if (!s->all)
		match_done(&s->match);
	return rc ? rc : survey_answer(store, v, buf_str(&found));
}

int
surveys_answer(struct store *s, const struct survey_list *l,
               const struct conf *conf, const struct match_reader *reader,
               const struct proc_table *procs)
{
	int64_t end = clock_mono_ns() + SURVEYS_NS;
	int rc = 0;

	for (size_t i = 0; i < l->n && !rc; i++) {
		struct search search = {
			.procs = procs,
			.scope = conf_tenant(conf, l->items[i].tenant),
		};

		rc = answer(s, &l->items[i], &search, reader);
		if (clock_mono_ns() > end)
			break;
	}
	return rc;
}
