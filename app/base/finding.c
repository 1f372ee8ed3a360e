#include "base/finding.h"

#include "base/json_out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum need { USEFUL, NEEDED };

static const struct {
	const char *part, *name;
	enum need need;
} checks[] = {
#define CHECK(id, part, name, need, doc) {part, name, need},
#include "checks.def"
#undef CHECK
};

const char *
verdict_word(enum verdict v)
{
	static const char *const words[VERDICTS] = {
		[FINE] = "ok",
		[WARNING] = "warning",
		[BROKEN] = "broken",
		[SKIPPED] = "skipped",
	};

	return words[v];
}

const char *
check_part(enum check c)
{
	return checks[c].part;
}

const char *
check_name(enum check c)
{
	return checks[c].name;
}

enum check
check_find(const char *part, const char *name)
{
	for (int c = 0; c < CHECKS; c++)
		if (!strcmp(checks[c].part, part) &&
		    !strcmp(checks[c].name, name))
			return c;
	return CHECKS;
}

bool
check_needed(enum check c)
{
	return c < CHECKS && checks[c].need == NEEDED;
}

void
finding_set(struct finding *f, enum verdict v, const char *fix, const char *fmt,
            ...)
{
	va_list ap;

	f->verdict = v;
	snprintf(f->fix, sizeof(f->fix), "%s", fix ? fix : "");
	va_start(ap, fmt);
	vsnprintf(f->found, sizeof(f->found), fmt, ap);
	va_end(ap);
}

bool
finding_explain(const struct finding *f, struct buf *out)
{
	if (f->verdict == FINE)
		return false;
	buf_addf(out, "%s%s%s", f->found, *f->fix ? ": " : "", f->fix);
	return true;
}

void
finding_json(const struct finding *f, enum check c, struct buf *out)
{
	json_put_text(out, "part", check_part(c));
	json_put_text(out, "check", check_name(c));
	json_put_text(out, "verdict", verdict_word(f->verdict));
	json_put_text(out, "found", f->found);
	json_put_text(out, "fix", f->fix);
}
