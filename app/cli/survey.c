#include "survey.h"

#include "base/path.h"
#include "near.h"
#include "program.h"
#include "table.h"
#include "text.h"

#include <string.h>

#define SHOWN_MOST 5 /* processes */
#define NEAR_MOST  3 /* units or programs that nearly match */
#define STEM_LEAST 3 /* letters that a name must share */
#define STEM_MOST  64
#define INDENT     2
#define UNIT       "unit"
#define EXECUTABLE "executable"

#define PROCESSES "/api/v1/processes"

static json_t *
body_of(const json_t *match)
{
	json_t *body = json_object();

	if (match)
		json_object_set(body, "match", (json_t *)match);
	return body;
}

int
survey_fetch(struct cli *c, const json_t *match, json_t **out)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *body = body_of(match);
	int rc = ask(c, "POST", PROCESSES, body, &r);

	if (!rc)
		*out = json_incref(json_object_get(r.json, "items"));
	return rc;
}

const json_t *
survey_processes(const json_t *host)
{
	return json_object_get(json_object_get(host, "found"), "processes");
}

/* As survey_fetch(), but returns the list, or NULL on failure, which is not
 * reported. */
static json_t *
survey(struct cli *c, const json_t *match)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *body = body_of(match);

	if (http_call(&c->http, "POST", PROCESSES, body, &r, &why) ||
	    r.status != 200)
		return NULL;
	return json_incref(json_object_get(r.json, "items"));
}

/* Sums a member of the hosts' answers. */
static json_int_t
sum_of(const json_t *hosts, const char *key)
{
	const json_t *host;
	json_int_t n = 0;
	size_t i;

	json_array_foreach(hosts, i, host)
		n += json_integer_value(
			json_object_get(json_object_get(host, "found"), key));
	return n;
}

json_int_t
survey_matching(const json_t *hosts)
{
	return sum_of(hosts, "matching");
}

bool
survey_answered(const json_t *hosts)
{
	const json_t *host;
	size_t i;

	json_array_foreach(hosts, i, host)
		if (json_is_true(json_object_get(host, "answered")))
			return true;
	return false;
}

/* --- processes ------------------------------------------------------------ */

static void
put_process(const json_t *process, const char *host, const struct screen *s,
            struct buf *out)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&line, "%" JSON_INTEGER_FORMAT " ",
	         json_integer_value(json_object_get(process, "pid")));
	if (*host) {
		safe_puts(&line, host);
		buf_putc(&line, ' ');
	}
	safe_puts(&line, json_member(process, "command"));
	text_pad(out, INDENT);
	text_cut(out, buf_str(&line),
	         s->width ? s->width - INDENT : line.len + 1, 0);
	buf_putc(out, '\n');
}

static void
put_processes(const json_t *hosts, json_int_t all, const struct screen *s,
              struct buf *out)
{
	bool several = json_array_size(hosts) > 1;
	const json_t *host, *process;
	json_int_t shown = 0;
	size_t i, k;

	json_array_foreach(hosts, i, host) {
		const json_t *list = survey_processes(host);

		json_array_foreach(list, k, process) {
			if (shown++ < SHOWN_MOST)
				put_process(process,
				            several ? json_member(host, "host")
				                    : "",
				            s, out);
		}
	}
	if (all > SHOWN_MOST)
		buf_addf(out, "  and %" JSON_INTEGER_FORMAT " more\n",
		         all - SHOWN_MOST);
}

/* --- near matches --------------------------------------------------------- */

/* Names of units or programs that resemble a word. */
struct likes {
	const char *key;   /* UNIT or EXECUTABLE */
	const char *value; /* from the match */
	char word[STEM_MOST];
	const char *names[NEAR_MOST]; /* the best first */
	unsigned ranks[NEAR_MOST];    /* 0 is equal */
	size_t n;
};

/*
 * Writes the distinctive part of a name: "postgresql" of
 * "postgresql@15-main.service", "python" of "/usr/bin/python3.11".
 */
static void
stem_of(const char *name, char out[static STEM_MOST])
{
	const char *slash = strrchr(name, '/');
	size_t n;

	name = slash ? slash + 1 : name;
	n = slash ? strlen(name) : strcspn(name, "@.");
	while (slash && n > STEM_LEAST && strchr("0123456789.-", name[n - 1]))
		n--;
	n = n < STEM_MOST ? n : STEM_MOST - 1;
	memcpy(out, name, n);
	out[n] = '\0';
}

/* True if two stems resemble each other; ranks how closely. */
static bool
resembles(const char *word, const char *stem, unsigned *rank)
{
	struct near near = NEAR(word);

	if (strlen(word) < STEM_LEAST || strlen(stem) < STEM_LEAST)
		return false;
	*rank = !strcmp(word, stem) ? 0 : 1;
	if (!*rank || strstr(word, stem) || strstr(stem, word))
		return true;
	near_try(&near, stem);
	*rank = 2;
	return near.best;
}

/* True if both are in one folder; units are in none. */
static bool
share_folder(const char *a, const char *b)
{
	size_t n = (size_t)(path_name(a) - a);

	return n == (size_t)(path_name(b) - b) && !memcmp(a, b, n);
}

/* Adds a name that resembles the word; of equally similar names, one in the
 * requested folder comes first. */
static void
consider(struct likes *l, const char *name)
{
	char stem[STEM_MOST];
	unsigned rank;
	size_t at;

	stem_of(name, stem);
	if (!resembles(l->word, stem, &rank))
		return;
	rank = 2 * rank + !share_folder(l->value, name);
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->names[i], name))
			return;
	for (at = l->n; at && l->ranks[at - 1] > rank; at--)
		if (at < NEAR_MOST) {
			l->names[at] = l->names[at - 1];
			l->ranks[at] = l->ranks[at - 1];
		}
	if (at == NEAR_MOST)
		return;
	l->names[at] = name;
	l->ranks[at] = rank;
	l->n += l->n < NEAR_MOST;
}

/* Looks for names of a kind among all processes; they are borrowed. */
static void
find_likes(const json_t *hosts, const char *key, const char *value,
           struct likes *out)
{
	const json_t *host, *process;
	size_t i, k;

	*out = (struct likes){.key = key, .value = value};
	stem_of(value, out->word);
	json_array_foreach(hosts, i, host) {
		const json_t *list = survey_processes(host);

		json_array_foreach(list, k, process)
			consider(out, json_member(process, key));
	}
}

static json_int_t
count_of(struct cli *c, const char *key, const char *value)
{
	CLEANUP_JSON json_t *match = json_object();
	CLEANUP_JSON json_t *hosts = NULL;

	json_object_set_new(match, key, json_text(value));
	hosts = survey(c, match);
	return survey_matching(hosts);
}

static void
put_likes(struct cli *c, const struct likes *l, const char *command,
          struct buf *out)
{
	bool unit = !strcmp(l->key, UNIT);

	for (size_t i = 0; i < l->n; i++) {
		json_int_t n = count_of(c, unit ? "unit" : "exe", l->names[i]);

		buf_puts(out, "  ");
		safe_puts(out, l->names[i]);
		if (n)
			buf_addf(out, " (%" JSON_INTEGER_FORMAT " process%s)",
			         n, n == 1 ? "" : "es");
		buf_putc(out, '\n');
	}
	buf_addf(out, "to take %s:\n  %s --%s ", l->n == 1 ? "it" : "the first",
	         command, unit ? "unit" : "exe");
	shell_word(l->names[0], out);
	buf_putc(out, '\n');
}

/* Appends units or programs near a match; nothing if there are none. */
static void
put_near(struct cli *c, const char *key, const char *value, const char *command,
         const char *title, struct buf *out)
{
	CLEANUP_JSON json_t *all = NULL;
	struct likes l = {0};

	if (strcmp(key, "unit") && strcmp(key, "exe"))
		return;
	all = survey(c, NULL);
	if (!strcmp(key, "unit"))
		find_likes(all, UNIT, value, &l);
	if (!l.n)
		find_likes(all, EXECUTABLE, value, &l);
	if (!l.n)
		return;
	buf_addf(out, "%s%s like it that have processes:\n", title,
	         strcmp(l.key, UNIT) ? "programs" : "units");
	put_likes(c, &l, command, out);
}

void
survey_near_show(struct cli *c, const char *match, const char *command,
                 struct buf *out)
{
	const char *value = strchr(match, '=');
	char key[16] = "";

	if (!value || (size_t)(value - match) >= sizeof(key))
		return;
	memcpy(key, match, (size_t)(value - match));
	put_near(c, key, value + 1, command, "", out);
}

/* --- processes or near matches -------------------------------------------- */

static void
put_none(struct cli *c, const json_t *match, const json_t *hosts,
         const char *command, struct buf *out)
{
	CLEANUP_BUF struct buf near = BUF_INIT(BUF_MAX_SMALL);
	void *first = json_object_iter((json_t *)match);
	json_int_t outside = sum_of(hosts, "outOfScope");

	if (outside) {
		buf_addf(out,
		         "no process that may be profiled matches now: "
		         "%" JSON_INTEGER_FORMAT
		         " outside of the tenant's scope do\n",
		         outside);
		return;
	}
	put_near(c, json_object_iter_key(first),
	         json_string_value(json_object_iter_value(first)) ?: "",
	         command, "no process matches now; ", &near);
	buf_puts(out, near.len ? buf_str(&near)
	                       : "no process matches now; "
	                         "stoker ps lists what runs\n");
}

void
survey_show(struct cli *c, const json_t *match, const char *command,
            struct buf *out)
{
	CLEANUP_JSON json_t *hosts = NULL;
	json_int_t n;

	if (!json_object_size(match))
		return;
	hosts = survey(c, match);
	if (!survey_answered(hosts)) {
		buf_puts(out, hosts ? NO_WORKER "\n" : "");
		return;
	}
	n = survey_matching(hosts);
	if (!n) {
		put_none(c, match, hosts, command, out);
		return;
	}
	buf_addf(out, "%" JSON_INTEGER_FORMAT " process%s now:\n", n,
	         n == 1 ? " matches" : "es match");
	put_processes(hosts, n, &c->screen, out);
}

int
survey_need(struct cli *c, const json_t *match, const char *command)
{
	CLEANUP_JSON json_t *hosts = survey(c, match);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (!hosts || survey_matching(hosts))
		return LEAVE_OK;
	if (!survey_answered(hosts))
		return failed(NO_WORKER);
	put_none(c, match, hosts, command, &text);
	return failed("%.*s", (int)text.len - 1, buf_str(&text)); /* its \n */
}
