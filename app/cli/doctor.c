#include "doctor.h"

#include "base/contained.h"
#include "base/file.h"
#include "table.h"
#include "text.h"

#include <fcntl.h>
#include <string.h>

const struct probe doctor_probes[] = {
#define PROBE(function, where, name) {name, where, probe_##function},
#include "doctor.def"
#undef PROBE
};
const size_t doctor_nprobes = ARRAY_LEN(doctor_probes);

void
doctor_run(struct doctor *d, json_t *out)
{
	for (size_t i = 0; i < doctor_nprobes; i++) {
		const struct probe *p = &doctor_probes[i];
		enum verdict v;

		if (!(p->where & d->at))
			continue;
		buf_clear(&d->found);
		buf_clear(&d->fix);
		v = p->run(d);
		if (v == SKIPPED && !d->found.len)
			buf_puts(&d->found, "out of reach");
		doctor_add(out, p->name, verdict_word(v), buf_str(&d->found),
		           buf_str(&d->fix));
	}
	if (!(d->at & ANYWHERE))
		return;
	doctor_ask_server(d, out);
	doctor_ask_hosts(d, out);
}

/* Finds out what can be seen from here. In a container, that is either the
 * worker and the store, or the server. */
static void
look_around(struct doctor *d)
{
	d->at = ANYWHERE;
	if (http_is_remote(d->cli->http.server))
		return;
	doctor_find_worker(d);
	if (!is_contained())
		d->at = HOST | PART | ANYWHERE;
	else if (d->worker)
		d->at = PART;
}

#define FOUND_COLUMN 9 /* where further lines of a finding begin */

static enum style
verdict_style(const char *verdict)
{
	return !strcmp(verdict, verdict_word(BROKEN))    ? STYLE_BAD
	       : !strcmp(verdict, verdict_word(WARNING)) ? STYLE_WARNING
	                                                 : STYLE_GOOD;
}

/* Appends text, wrapped, with lines after the first indented. */
static void
put_wrapped(struct buf *out, const char *text, size_t at, size_t width)
{
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&safe, text);
	text_wrap(out, buf_str(&safe), at, FOUND_COLUMN, width);
	buf_putc(out, '\n');
}

static void
put_row(struct buf *out, const json_t *row, const struct screen *s)
{
	const char *verdict = json_member(row, "verdict"),
		   *check = json_member(row, "check"),
		   *repair = json_member(row, "fix");
	size_t begin = FOUND_COLUMN + text_columns(check) + 2;

	screen_puts(s, verdict_style(verdict), verdict, out);
	text_pad(out, FOUND_COLUMN - text_columns(verdict));
	safe_puts(out, check);
	buf_puts(out, ": ");
	put_wrapped(out, json_member(row, "found"), begin, s->width);
	if (!*repair)
		return;
	text_pad(out, FOUND_COLUMN);
	buf_puts(out, "fix: ");
	put_wrapped(out, repair, FOUND_COLUMN + strlen("fix: "), s->width);
}

/* Appends the names of the checks with a verdict. */
static void
put_names(struct buf *out, const json_t *list, enum verdict v)
{
	const char *between = "";
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row) {
		if (strcmp(json_member(row, "verdict"), verdict_word(v)) != 0)
			continue;
		buf_puts(out, between);
		buf_puts(out, json_member(row, "check"));
		between = ", ";
	}
}

/* The last line names the problems, which may have scrolled away. */
static void
put_problems(struct buf *out, const json_t *list, const struct screen *s)
{
	CLEANUP_BUF struct buf broken = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf warnings = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	put_names(&broken, list, BROKEN);
	put_names(&warnings, list, WARNING);
	buf_puts(&text, broken.len ? "broken: " : "nothing is broken");
	buf_puts(&text, buf_str(&broken));
	if (warnings.len)
		buf_puts(&text, "; warnings: ");
	buf_puts(&text, buf_str(&warnings));
	put_wrapped(out, buf_str(&text), 0, s->width);
}

bool
doctor_show(const json_t *list, const struct screen *s, struct buf *out)
{
	const json_t *row;
	bool whole = true;
	size_t i;

	json_array_foreach(list, i, row) {
		if (!strcmp(json_member(row, "verdict"), verdict_word(BROKEN)))
			whole = false;
		put_row(out, row, s);
	}
	put_problems(out, list, s);
	return whole;
}

static void
doctor_done(struct doctor *d)
{
	conf_done(&d->conf);
	buf_done(&d->found);
	buf_done(&d->fix);
	close_ptr(&d->root);
}

int
cmd_doctor(struct cli *c)
{
	CLEANUP_FREE char *conf_file = file_absolute(settings_file(&c->opt));
	CLEANUP(doctor_done)
	struct doctor d = {
		.cli = c,
		.root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.conf_file = conf_file ? conf_file : settings_file(&c->opt),
		.found = BUF_INIT(BUF_MAX_SMALL),
		.fix = BUF_INIT(BUF_MAX_SMALL),
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *list = json_array();
	bool whole;

	d.conf_read = !settings_load(&c->opt, &d.conf, &why);
	strncat(d.conf_why, buf_str(&why), sizeof(d.conf_why) - 1);
	if (!d.conf_read && conf_load(NULL, &d.conf, &out))
		return failed("%s", buf_str(&out));
	look_around(&d);
	doctor_run(&d, list);
	whole = doctor_show(list, &c->screen, &out);
	if (c->opt.json ? print_json(list) : print(&out))
		return LEAVE_FAILED;
	return whole ? LEAVE_OK : LEAVE_FAILED;
}
