#include "doctor.h"

#include "base/file.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

const struct check doctor_checks[] = {
#define CHECK(function, name) {name, check_##function},
#include "doctor.def"
#undef CHECK
};
const size_t doctor_nchecks = ARRAY_LEN(doctor_checks);

static const char *const verdicts[] = {
	[FINE] = "ok",
	[WARNING] = "warning",
	[BROKEN] = "broken",
	[SKIPPED] = "skipped",
};

void
found(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&d->found, fmt, ap);
	va_end(ap);
}

void
fix(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&d->fix, fmt, ap);
	va_end(ap);
}

const char *
below_root(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

int
doctor_read(const struct doctor *d, const char *path, struct buf *out)
{
	return file_read(d->root, below_root(path), out);
}

int
doctor_number(const struct doctor *d, const char *path, long *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int rc = doctor_read(d, path, &text);
	char *end;
	long v;

	if (rc)
		return rc;
	errno = 0;
	v = strtol(buf_str(&text), &end, 10);
	if (errno || end == buf_str(&text))
		return -EINVAL;
	*out = v;
	return 0;
}

void
doctor_run(struct doctor *d, json_t *out)
{
	doctor_find_worker(d);
	for (size_t i = 0; i < doctor_nchecks; i++) {
		enum verdict v;

		buf_clear(&d->found);
		buf_clear(&d->fix);
		v = doctor_checks[i].run(d);
		if (v == SKIPPED && !d->found.len)
			buf_puts(&d->found, "out of reach");
		json_array_append_new(
			out,
			json_pack("{ss ss so so}", "check",
		                  doctor_checks[i].name, "verdict", verdicts[v],
		                  "found", json_text(buf_str(&d->found)), "fix",
		                  json_text(buf_str(&d->fix))));
	}
}

static const char *
text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

bool
doctor_show(const json_t *list, struct buf *out)
{
	const json_t *row;
	bool whole = true;
	size_t i;

	json_array_foreach(list, i, row)
	{
		if (!strcmp(text_of(row, "verdict"), verdicts[BROKEN]))
			whole = false;
		buf_addf(out, "%-8s %-20s ", text_of(row, "verdict"),
		         text_of(row, "check"));
		safe_puts(out, text_of(row, "found"));
		buf_putc(out, '\n');
		if (*text_of(row, "fix")) {
			buf_puts(out, "         fix: ");
			safe_puts(out, text_of(row, "fix"));
			buf_putc(out, '\n');
		}
	}
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
	CLEANUP(doctor_done)
	struct doctor d = {
		.cli = c,
		.root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.conf_file = settings_file(&c->opt),
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
	doctor_run(&d, list);
	whole = doctor_show(list, &out);
	if (c->opt.json ? print_json(list) : print(&out))
		return LEAVE_FAILED;
	return whole ? LEAVE_OK : LEAVE_FAILED;
}
