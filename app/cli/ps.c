/* stoker ps: what runs on the hosts, by CPU time, and how to profile it. */
#include "cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/ways.h"
#include "profile/types.h"
#include "program.h"
#include "service.h"
#include "survey.h"
#include "table.h"
#include "text.h"

#include <poll.h>
#include <string.h>

#define SECONDS   2
#define ROWS      10
#define TRIES     3
#define LEAST_CPU 0.05
#define BUSY      1  /* percent of a CPU: gives samples in 10 s */
#define MANY      20 /* and enough samples to be compared */
#define ANSWER_S  1  /* from a survey's look at processes to its answer */

/* Returns the CPU time of a process in an earlier survey, or -1. */
static double
cpu_before(const json_t *hosts, const char *host, const json_t *pid)
{
	const json_t *h, *process;
	size_t i, k;

	json_array_foreach(hosts, i, h) {
		if (strcmp(json_member(h, "host"), host) != 0)
			continue;
		json_array_foreach(survey_processes(h), k, process)
			if (json_equal(json_object_get(process, "pid"), pid))
				return json_number_value(
					json_object_get(process, "cpuSeconds"));
	}
	return -1;
}

/* --- what profiles need --------------------------------------------------- */

static const struct {
	const char *type, *language, *text;
} needs[] = {
#define NEED(type, language, text) {#type, #language, text},
#include "needs.def"
#undef NEED
};

static const char *
need_of(const char *type, const char *language)
{
	const char *found = "nothing";

	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		if (strcmp(needs[i].type, type) != 0)
			continue;
		if (!strcmp(needs[i].language, language))
			return needs[i].text;
		if (!strcmp(needs[i].language, "any"))
			found = needs[i].text;
	}
	return found;
}

/* Makes a row for each type that can be captured of a program. */
static json_t *
needs_of(const char *language)
{
	const char *kind = strcmp(language, "go") ? "native" : "go";
	json_t *rows = json_array();

	for (size_t i = 0; i < TYPES; i++) {
		const char *type = profile_types[i].name;

		if (ways_outside(kind, type))
			json_array_append_new(
				rows,
				json_pack("{ss ss}", "type", type, "needs",
			                  need_of(type, language)));
	}
	return rows;
}

/* --- rows ----------------------------------------------------------------- */

static json_t *
find_row(const json_t *rows, const char *host, const json_t *match)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (!strcmp(json_member(row, "host"), host) &&
		    json_equal(json_object_get(row, "match"), match))
			return row;
	return NULL;
}

/* Returns the name of a service with this match, or "". */
static const char *
service_of(const json_t *services, const json_t *match)
{
	const json_t *service;
	size_t i;

	json_array_foreach(services, i, service)
		if (json_equal(json_object_get(service, "match"), match))
			return json_member(service, "name");
	return "";
}

static void
put_command(json_t *row, const json_t *process, const char *service)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&text, "stoker run ");
	if (*service)
		shell_word(service, &text);
	else
		program_options(process, &text);
	json_object_set_new(row, "command", json_text(buf_str(&text)));
}

/* At the default rate, 10 s of a nearly idle process yield too few samples to
 * compare. */
static void
put_length(json_t *row)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	double percent = json_number_value(json_object_get(row, "cpuPercent"));

	buf_addf(&text, "%s --seconds 10s%s --wait",
	         json_member(row, "command"),
	         percent >= BUSY && percent < MANY ? " --rate 400" : "");
	json_object_set_new(row, "command", json_text(buf_str(&text)));
}

static json_t *
new_row(const json_t *process, const char *host, const json_t *match,
        const json_t *services)
{
	CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);
	const char *service = service_of(services, match);
	json_t *row = json_object();

	program_title(process, &title);
	json_object_set_new(row, "host", json_text(host));
	json_object_set_new(row, "name", json_text(buf_str(&title)));
	json_object_set_new(row, "cpuPercent", json_real(0));
	json_object_set_new(row, "processes", json_integer(0));
	json_object_set_new(row, "language",
	                    json_text(program_language(process, host)));
	json_object_set(row, "match", (json_t *)match);
	json_object_set_new(row, "service", json_text(service));
	json_object_set_new(row, "needs",
	                    needs_of(json_member(row, "language")));
	json_object_set_new(row, "pids", json_array());
	put_command(row, process, service);
	return row;
}

static void
add_to(json_t *row, double percent, json_int_t processes)
{
	json_t *cpu = json_object_get(row, "cpuPercent"),
	       *n = json_object_get(row, "processes");

	json_real_set(cpu, json_real_value(cpu) + percent);
	json_integer_set(n, json_integer_value(n) + processes);
}

/* Two surveys, and the time between them. */
struct looks {
	json_t *first, *second, *services;
	double seconds;
};

static void
looks_done(struct looks *l)
{
	json_decref(l->first);
	json_decref(l->second);
	json_decref(l->services);
}

/* Returns the CPU time of a process between both surveys. If the first lacks
 * it, it has started since, or did not fit into the list. */
static double
cpu_between(const struct looks *l, const char *host, const json_t *process)
{
	double cpu = json_number_value(json_object_get(process, "cpuSeconds")),
	       before = cpu_before(l->first, host,
	                           json_object_get(process, "pid"));
	const json_t *age = json_object_get(process, "ageSeconds");

	if (before < 0)
		return json_is_number(age) && json_number_value(age) <=
		                                      l->seconds + ANSWER_S
		               ? cpu
		               : 0;
	return cpu > before ? cpu - before : 0;
}

static void
add_process(json_t *rows, const struct looks *l, const char *host,
            const json_t *process)
{
	CLEANUP_JSON json_t *match = program_match(process);
	json_t *row = match ? find_row(rows, host, match) : NULL;

	if (!match)
		return;
	if (!row) {
		row = new_row(process, host, match, l->services);
		json_array_append_new(rows, row);
	}
	json_array_append(json_object_get(row, "pids"),
	                  json_object_get(process, "pid"));
	add_to(row, 100 * cpu_between(l, host, process) / l->seconds,
	       json_integer_value(json_object_get(process, "processes")));
}

static int
by_cpu(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	double dx = json_number_value(json_object_get(x, "cpuPercent")),
	       dy = json_number_value(json_object_get(y, "cpuPercent"));

	if (dx > LEAST_CPU || dy > LEAST_CPU)
		return dx < dy ? 1 : dx > dy ? -1 : 0;
	return strcmp(json_member(x, "name"), json_member(y, "name"));
}

/* Makes the rows, the busiest first. */
static json_t *
rows_of(const struct looks *l, size_t most)
{
	CLEANUP_JSON json_t *rows = json_array();
	CLEANUP_FREE json_t **order = NULL;
	const json_t *host, *process;
	json_t *out = json_array();
	size_t i, k, n;

	json_array_foreach(l->second, i, host)
		json_array_foreach(survey_processes(host), k, process)
			add_process(rows, l, json_member(host, "host"),
			            process);
	n = json_array_size(rows);
	order = calloc(n + 1, sizeof(json_t *));
	for (i = 0; order && i < n; i++)
		order[i] = json_array_get(rows, i);
	if (order)
		qsort(order, n, sizeof(json_t *), by_cpu);
	for (i = 0; order && i < n && i < most; i++) {
		put_length(order[i]);
		json_array_append(out, order[i]);
	}
	return out;
}

/* --- the command ---------------------------------------------------------- */

static bool
has_processes(const json_t *hosts)
{
	const json_t *host;
	size_t i;

	json_array_foreach(hosts, i, host)
		if (json_array_size(survey_processes(host)))
			return true;
	return false;
}

/* A worker that has just started may list nothing yet, so it is asked again; a
 * silent worker is not. */
static int
first_look(struct cli *c, json_t **out)
{
	int rc = 0;

	for (int i = 0; i < TRIES && !rc && !has_processes(*out); i++) {
		json_decref(TAKE(*out));
		rc = survey_fetch(c, NULL, out);
		if (json_array_size(*out) && !survey_answered(*out))
			break;
	}
	return rc;
}

static int
look(struct cli *c, struct looks *l)
{
	int64_t s = c->opt.seconds < 0 ? SECONDS : c->opt.seconds, start;
	int rc = first_look(c, &l->first);

	if (rc || !survey_answered(l->first))
		return rc;
	start = clock_mono_ns();
	poll(NULL, 0, (int)(s * 1000));
	rc = survey_fetch(c, NULL, &l->second);
	l->seconds = (double)(clock_mono_ns() - start) / NS_PER_S;
	l->services = services_list(c);
	return rc;
}

/* --- needs of one program ------------------------------------------------- */

/* True if a word is a row's container or unit, with or without its suffix, its
 * program, with or without folders, or the pid of one of its processes. */
static bool
is_meant(const json_t *row, const char *word)
{
	CLEANUP_BUF struct buf unit = BUF_INIT(BUF_MAX_SMALL);
	const char *name = json_member(row, "name");
	const json_t *pid;
	char text[24];
	size_t i;

	buf_addf(&unit, "%s.service", word);
	if (!strcmp(name, word) || !strcmp(path_name(name), word) ||
	    !strcmp(name, buf_str(&unit)))
		return true;
	json_array_foreach(json_object_get(row, "pids"), i, pid) {
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		         json_integer_value(pid));
		if (!strcmp(text, word))
			return true;
	}
	return false;
}

static void
put_needs(const json_t *row, const struct screen *s, struct buf *out)
{
	static const struct column columns[] = {
		{"TYPE", "type", LEFT, PLAIN},
		{"NEEDS", "needs", LEFT, PLAIN},
	};
	const char *language = json_member(row, "language");
	json_int_t n = json_integer_value(json_object_get(row, "processes"));

	safe_puts(out, json_member(row, "name"));
	buf_addf(out, ": %" JSON_INTEGER_FORMAT " process%s, %.1f %% of a CPU",
	         n, n == 1 ? "" : "es",
	         json_number_value(json_object_get(row, "cpuPercent")));
	if (*language)
		buf_addf(out, ", %s", language);
	buf_puts(out, "\n  ");
	safe_puts(out, json_member(row, "command"));
	buf_puts(out, "\n\n");
	table_show(out, columns, ARRAY_LEN(columns),
	           json_object_get(row, "needs"), s);
}

/* Shows what profiles of the rows named by the operand need. */
static int
show_needs(struct cli *c, const json_t *rows)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const char *word = c->operands[0];
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!is_meant(row, word))
			continue;
		if (out.len)
			buf_putc(&out, '\n');
		put_needs(row, &c->screen, &out);
	}
	if (!out.len)
		return failed("no container, unit or program called '%s', and "
		              "no process "
		              "of that number, may be profiled\n"
		              "  stoker ps lists those that may",
		              word);
	return print(&out);
}

static int
show(struct cli *c, json_t *rows)
{
	static const struct column columns[] = {
		{"CPU %", "cpuPercent", RIGHT, PERCENT},
		{"PROCESSES", "processes", RIGHT, PLAIN},
		{"LANGUAGE", "language", LEFT, PLAIN},
		{"HOST", "host", LEFT, MIDDLE},
		{"SERVICE", "service", LEFT, MIDDLE},
		{"CONTAINER, UNIT OR PROGRAM", "name", LEFT, MIDDLE},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	bool several = false;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		several |= strcmp(json_member(row, "host"),
		                  json_member(json_array_get(rows, 0),
		                              "host")) != 0;
		json_object_set(row, TABLE_NOTE,
		                json_object_get(row, "command"));
	}
	json_array_foreach(rows, i, row)
		if (!several)
			json_object_del(row, "host");
	if (!json_array_size(rows))
		return failed("nothing that runs may be profiled\n  stoker "
		              "doctor, on the host, shows why");
	table_show_used(&out, columns, ARRAY_LEN(columns), rows, &c->screen);
	return print(&out);
}

void
ps_busiest(struct cli *c, struct buf *out)
{
	CLEANUP(looks_done) struct looks l = {0};
	CLEANUP_JSON json_t *rows = NULL;
	const json_t *first;
	double percent;

	if (look(c, &l))
		return;
	rows = rows_of(&l, 1);
	first = json_array_get(rows, 0);
	percent = json_number_value(json_object_get(first, "cpuPercent"));
	if (percent < BUSY)
		return;
	safe_puts(out, json_member(first, "command"));
	buf_addf(out, "  # the busiest now: %.1f %% of a CPU", percent);
}

int
cmd_ps(struct cli *c)
{
	CLEANUP(looks_done) struct looks l = {0};
	CLEANUP_JSON json_t *rows = NULL;
	int rc = look(c, &l);

	if (rc)
		return rc;
	if (!survey_answered(l.first))
		return failed(NO_WORKER);
	rows = rows_of(&l, c->noperands       ? SIZE_MAX
	                   : c->opt.limit < 0 ? ROWS
	                                      : (size_t)c->opt.limit);
	if (c->opt.json)
		return print_json(rows);
	return c->noperands ? show_needs(c, rows) : show(c, rows);
}
