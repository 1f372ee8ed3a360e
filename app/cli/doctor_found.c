#include "doctor.h"

#include "base/file.h"
#include "text.h"

#include <string.h>

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

void
doctor_add(json_t *out, const char *name, const char *verdict,
           const char *found, const char *fix)
{
	json_array_append_new(out, json_pack("{ss ss so so}", "check", name,
	                                     "verdict", verdict, "found",
	                                     json_text(found), "fix",
	                                     json_text(fix)));
}
