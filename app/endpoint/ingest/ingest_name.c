#include "ingest_name.h"

#include "base/json.h"
#include "profile/import.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int
put_label(struct buf *out, const char *text, size_t n)
{
	const char *eq = memchr(text, '=', n);
	size_t key;

	if (!eq || eq == text)
		return -EINVAL;
	key = (size_t)(eq - text);
	if (key >= 2 && !memcmp(text, "__", 2))
		return 0;
	if (out->p[out->len - 1] != '{')
		buf_putc(out, ',');
	json_escape(out, text, key);
	buf_putc(out, ':');
	json_escape(out, eq + 1, n - key - 1);
	return 0;
}

/* Reads "a=1, b=2", the text between the braces. */
static int
put_labels(struct buf *out, const char *p, const char *end)
{
	int r = 0;

	for (int i = 0; !r && p < end; i++) {
		size_t n = strcspn(p, ",}");

		if (i == INGEST_MAX_LABELS)
			return -EINVAL;
		if (n)
			r = put_label(out, p, n);
		p += n;
		p += strspn(p, ", ");
	}
	return r;
}

void
ingest_app(char app[static INGEST_APP_MAX], const char *name, size_t n)
{
	while (n && !isalnum((unsigned char)*name))
		name++, n--;
	n = n < INGEST_APP_MAX ? n : INGEST_APP_MAX - 1;
	while (n && !isalnum((unsigned char)name[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++)
		app[i] = isalnum((unsigned char)name[i]) ||
		                         strchr("._-", name[i])
		                 ? name[i]
		                 : '-';
	app[n] = '\0';
}

int
ingest_name(const char *name, char app[static INGEST_APP_MAX],
            struct buf *labels)
{
	size_t n = strcspn(name, "{"), all = strlen(name);
	int r = 0;

	if (!n || n >= INGEST_APP_MAX)
		return -EINVAL;
	if (name[n] &&
	    (name[all - 1] != '}' || strchr(name, '}') != name + all - 1))
		return -EINVAL;
	buf_putc(labels, '{');
	if (name[n])
		r = put_labels(labels, name + n + 1, name + all - 1);
	buf_putc(labels, '}');
	if (r || buf_err(labels))
		return r ? r : -EINVAL;
	ingest_app(app, name, n);
	return 0;
}

const char *
ingest_type(const char *app, size_t *len)
{
	const char *dot = strrchr(app, '.');
	const struct type *t;

	if (!dot || dot == app || !import_type_of_end(dot + 1, &t))
		return NULL;
	*len = (size_t)(dot - app);
	return t ? t->name : "";
}
