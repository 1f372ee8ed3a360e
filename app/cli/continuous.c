/* stoker continuous: services that are profiled all the time. */
#include "session.h"

#include "base/ways.h"
#include "labels.h"
#include "profile/types.h"
#include "program.h"
#include "result.h"
#include "service.h"
#include "survey.h"
#include "table.h"
#include "text.h"

#include <string.h>

#define CONTINUOUS PROFILES "/continuous"

/* Makes {"service": …} with the current settings, if there are any. */
static int
ask_settings(struct cli *c, json_t **out)
{
	static const char *const kept[] = {"profileTypes", "sampleRate",
	                                   "retentionDays"};
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *settings =
		json_pack("{ss}", "service", c->operands[0]);
	int rc;

	if (!settings)
		return failed("an argument is not UTF-8");
	buf_puts(&path, CONTINUOUS "/");
	url_escape(&path, c->operands[0]);
	rc = ask_maybe(c, "GET", buf_str(&path), NULL, &r);
	for (size_t i = 0; i < ARRAY_LEN(kept) && !rc && r.status < 300; i++)
		json_object_set(settings, kept[i],
		                json_object_get(r.json, kept[i]));
	if (!rc)
		*out = TAKE(settings);
	return rc;
}

/* Sets the types from a text such as "cpu,memory". */
static int
set_types(json_t *settings, const char *words)
{
	CLEANUP_JSON json_t *list = json_array();
	const char *word;
	size_t n;

	while (comma_next(&words, &word, &n))
		if (json_array_append_new(list, json_stringn(word, n)))
			return failed("--types is not UTF-8");
	json_object_set(settings, "profileTypes", list);
	return LEAVE_OK;
}

static int
set_options(json_t *settings, const struct options *o)
{
	number_set(settings, "sampleRate", o->rate);
	number_set(settings, "retentionDays", o->retention_days);
	return o->types ? set_types(settings, o->types) : LEAVE_OK;
}

/* --- show ----------------------------------------------------------------- */

static json_int_t
number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

/* Appends a sentence, wrapped. The text may contain names chosen by other
 * users. */
static void
say(struct buf *out, const struct screen *s, const struct buf *text)
{
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&safe, buf_str(text));
	text_wrap(out, buf_str(&safe), 0, 2, s->width);
	buf_putc(out, '\n');
}

static void
say_settings(struct buf *out, const struct screen *s, const json_t *j)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&text, json_member(j, "service"));
	if (!json_is_true(json_object_get(j, "enabled"))) {
		buf_puts(&text, " is not profiled all the time.");
		say(out, s, &text);
		buf_clear(&text);
		buf_puts(&text, "When it is turned on: ");
	} else {
		buf_puts(&text, " is profiled all the time: ");
	}
	value_show(&text, json_object_get(j, "profileTypes"));
	buf_addf(&text,
	         "; CPU at %" JSON_INTEGER_FORMAT " samples per second; kept "
	         "for %" JSON_INTEGER_FORMAT " days.",
	         number(j, "sampleRate"), number(j, "retentionDays"));
	say(out, s, &text);
}

static const char *
state_text(const char *state)
{
	static const struct {
		const char *state, *text;
	} rows[] = {
		{"behind", "the store takes no windows"},
		{"refused", "no windows are made, because the disk is nearly "
	                    "full"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].state, state))
			return rows[i].text;
	return state;
}

static void
say_host(struct buf *out, const struct screen *s, const json_t *host)
{
	static const struct {
		const char *key, *text;
	} counts[] = {
		{"dropped", "made but not kept"},
		{"widened", "longer than asked"},
		{"refused", "not made because the disk is nearly full"},
		{"gaps", "not made for another reason"},
	};
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text,
	         "The worker of %s: %s. Since it started, it has made windows "
	         "of %" JSON_INTEGER_FORMAT
	         " s, of all services: %" JSON_INTEGER_FORMAT " stored",
	         json_member(host, "host"),
	         state_text(json_member(host, "state")),
	         number(host, "windowSeconds"), number(host, "stored"));
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (number(host, counts[i].key))
			buf_addf(&text, ", %" JSON_INTEGER_FORMAT " %s",
			         number(host, counts[i].key), counts[i].text);
	buf_putc(&text, '.');
	if (number(host, "leftOut"))
		buf_addf(&text,
		         " %" JSON_INTEGER_FORMAT
		         " services are left out: there are too many.",
		         number(host, "leftOut"));
	say(out, s, &text);
}

static void
say_missing(struct buf *out, const struct screen *s, const json_t *one)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text, "%s is not taken: it needs %s",
	         json_member(one, "profileType"), json_member(one, "missing"));
	say(out, s, &text);
	if (!*json_member(one, "fix"))
		return;
	buf_puts(out, "  ");
	safe_puts(out, json_member(one, "fix"));
	buf_putc(out, '\n');
}

static void
say_failing(struct buf *out, const struct screen *s, const json_t *one)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text, "%s fails on %s since ",
	         json_member(one, "profileType"), json_member(one, "host"));
	screen_time(s, json_member(one, "since"), &text);
	buf_addf(&text, ": %s (%s)", json_member(one, "message"),
	         json_member(one, "error_code"));
	say(out, s, &text);
}

static int
show(const struct cli *c, const json_t *j)
{
	static const struct {
		const char *key;
		void (*say)(struct buf *out, const struct screen *s,
		            const json_t *one);
	} lists[] = {
		{"hosts", say_host},
		{"unsupported", say_missing},
		{"failing", say_failing},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const json_t *one;
	size_t k;

	if (c->opt.json)
		return print_json(j);
	say_settings(&out, &c->screen, j);
	if (!json_array_size(json_object_get(j, "hosts")))
		buf_puts(&out,
		         "No worker of the service is alive.\n" WORKER_REMEDY
		         "\n");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_array_foreach(json_object_get(j, lists[i].key), k, one)
			lists[i].say(&out, &c->screen, one);
	return print(&out);
}

/* --- programs ------------------------------------------------------------- */

/* Returns the programs that a service runs now, as bits of enum way_program; 0
 * if some are unknown, such as children that do not match themselves. */
static unsigned
programs_of(struct cli *c, const char *path, const json_t *hosts)
{
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *all = NULL;
	const json_t *host, *process;
	json_int_t children = 0;
	unsigned found = 0;
	size_t i, k;

	buf_addf(&at, "%s/processes?look=true", path);
	all = ask_quietly(c, buf_str(&at));
	json_array_foreach(json_object_get(all, "captured"), i, host)
		children += number(host, "processes");
	json_array_foreach(hosts, i, host) {
		children -= number(json_object_get(host, "found"), "matching");
		json_array_foreach(survey_processes(host), k, process) {
			const char *language = program_language(
				process, json_member(host, "host"));

			if (!*language)
				return 0;
			found |= strcmp(language, "go") ? PROGRAM_native
			                                : PROGRAM_go;
		}
	}
	return all && children <= 0 ? found : 0;
}

/* Returns the engines, as bits, that can take a type of these programs
 * continuously. */
static unsigned
engines_of(const char *kind, const char *type, unsigned programs)
{
	uint64_t set = ways_all_the_time(kind, type, type_is_gauge(type));
	unsigned engines = 0;

	for (unsigned i = 0; i < WAYS; i++)
		if (set >> i & 1 && way_rows[i].program & programs)
			engines |= 1U << way_rows[i].engine;
	return engines;
}

/* Prints which types are not taken of these programs, and the remedy. */
static void
tell_types(const char *name, const char *kind, const json_t *types,
           unsigned programs)
{
	CLEANUP_BUF struct buf none = BUF_INIT(BUF_MAX_SMALL);
	const json_t *v;
	size_t i;

	json_array_foreach(types, i, v) {
		const char *type = json_string_value(v);
		unsigned engines = engines_of(kind, type, programs);

		if (!engines)
			buf_addf(&none, "%s%s", none.len ? ", " : "", type);
		if (engines == 1U << ENGINE_HEAP)
			fprintf(stderr,
			        "stoker: %s profiles need libstoker-heap.so in "
			        "the program\n  stoker continuous show %s "
			        "reports programs without it\n",
			        type, name);
	}
	if (none.len)
		fprintf(stderr,
		        "stoker: %s: no profile can be taken of the programs "
		        "that match now\n  stoker service set %s --kind %s  # "
		        "they are %sGo programs\n",
		        buf_str(&none), name,
		        programs == PROGRAM_go ? "auto" : "native",
		        programs == PROGRAM_go ? "" : "not ");
}

/* Prints what is missing for profiles of the programs that the service matches
 * now. */
static void
tell_programs(struct cli *c, const json_t *settings)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *service = NULL, *hosts = NULL;
	const char *name = c->operands[0];
	const json_t *match;
	unsigned programs;

	service_path(&path, name);
	service = ask_quietly(c, buf_str(&path));
	match = json_object_get(service, "match");
	if (service && !json_object_size(match) &&
	    strcmp(json_member(service, "source"), "endpoint") != 0 &&
	    !*json_member(service, "pprofUrl"))
		fprintf(stderr,
		        "stoker: %s has no match, so no process is profiled\n"
		        "  stoker service set %s --exe PATH\n",
		        name, name);
	if (!json_object_size(match) || survey_fetch(c, match, &hosts))
		return;
	programs = programs_of(c, buf_str(&path), hosts);
	if (programs) {
		tell_types(name, json_member(service, "kind"),
		           json_object_get(settings, "profileTypes"), programs);
	} else if (!survey_matching(hosts)) {
		buf_clear(&path);
		buf_addf(&path, "stoker service set %s", name);
		survey_show(c, match, buf_str(&path), &out);
		fputs(buf_str(&out), stderr);
	}
}

static int
turn(struct cli *c, bool on)
{
	CLEANUP_JSON json_t *settings = NULL;
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	int rc = ask_settings(c, &settings);

	if (!rc)
		rc = set_options(settings, &c->opt);
	if (rc)
		return rc;
	json_object_set_new(settings, "enabled", json_boolean(on));
	rc = ask(c, "POST", CONTINUOUS, settings, &r);
	rc = rc ? rc : show(c, r.json);
	if (!rc && on && !c->opt.json &&
	    json_array_size(json_object_get(r.json, "hosts")))
		tell_programs(c, r.json);
	return rc;
}

int
cmd_continuous_on(struct cli *c)
{
	return turn(c, true);
}

int
cmd_continuous_off(struct cli *c)
{
	return turn(c, false);
}

int
cmd_continuous_list(struct cli *c)
{
	static const struct column columns[] = {
		{"SERVICE", "service", LEFT, MIDDLE},
		{"ENABLED", "enabled", LEFT, PLAIN},
		{"RATE", "sampleRate", RIGHT, PLAIN},
		{"DAYS", "retentionDays", RIGHT, PLAIN},
		{"TYPES", "profileTypes", LEFT, PLAIN},
	};

	return whole_list_show(c, CONTINUOUS, columns, ARRAY_LEN(columns));
}

/* Prints that the service is not profiled, or does not exist. Returns
 * LEAVE_FAILED. */
static int
tell_not_on(struct cli *c)
{
	const char *name = c->operands[0];
	int rc = need_service(c, name);

	return rc ? rc
	          : failed("%s is not profiled all the time\n"
	                   "  stoker continuous on %s begins",
	                   name, name);
}

int
cmd_continuous_show(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_puts(&path, CONTINUOUS "/");
	url_escape(&path, c->operands[0]);
	rc = ask_maybe(c, "GET", buf_str(&path), NULL, &r);
	if (!rc && r.status == 404)
		return tell_not_on(c);
	return rc ? rc : show(c, r.json);
}
