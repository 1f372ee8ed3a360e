#include "ingest_name.h"

#include "base/json.h"

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
	memcpy(app, name, n);
	app[n] = '\0';
	return 0;
}

/* Suffixes of names, and their types; "" for values that are not stored: counts
 * that accompany bytes and times, and time other than CPU time. */
static const struct {
	const char *name, *type;
} ends[] = {
	{"cpu", "cpu"},
	{"itimer", "cpu"},
	{"inuse_space", "memory"},
	{"alloc_space", "alloc"},
	{"alloc_in_new_tlab_bytes", "alloc"},
	{"goroutines", "goroutine"},
	{"mutex_duration", "mutex"},
	{"block_duration", "block"},
	{"lock_duration", "block"},
	{"wall", ""},
	{"inuse_objects", ""},
	{"alloc_objects", ""},
	{"alloc_in_new_tlab_objects", ""},
	{"alloc_outside_tlab_objects", ""},
	{"alloc_outside_tlab_bytes", ""},
	{"mutex_count", ""},
	{"block_count", ""},
	{"lock_count", ""},
};

const char *
ingest_type(const char *app, size_t *len)
{
	const char *dot = strrchr(app, '.');

	for (size_t i = 0; dot && dot > app && i < ARRAY_LEN(ends); i++) {
		if (strcmp(ends[i].name, dot + 1))
			continue;
		*len = (size_t)(dot - app);
		return ends[i].type;
	}
	return NULL;
}
