#include "collector_headers.h"

#include "base/conf.h"

#include <errno.h>
#include <string.h>

struct row {
	char *tenant, *host, *header; /* NULL: a blank line or a comment */
};

/* Cuts the next word off a line. */
static char *
word(char **line)
{
	char *w = *line + strspn(*line, " \t");
	size_t n = strcspn(w, " \t");

	*line = w + n;
	if (w[n]) {
		w[n] = '\0';
		(*line)++;
	}
	return w;
}

/* True for a name of RFC 9110, a colon, and a value without control
 * characters. */
static bool
is_header(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
	                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                     "!#$%&'*+-.^_`|~");

	if (!n || s[n] != ':')
		return false;
	for (s += n; *s; s++)
		if (((unsigned char)*s < ' ' && *s != '\t') || *s == 127)
			return false;
	return true;
}

/* Reads a line, which it cuts; false if it is malformed. */
static bool
read_row(char *line, struct row *out)
{
	size_t n = strlen(line);

	*out = (struct row){0};
	if (n && line[n - 1] == '\r')
		line[n - 1] = '\0';
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	out->tenant = word(&line);
	out->host = word(&line);
	out->header = line + strspn(line, " \t");
	return is_header(out->header);
}

int
collector_headers(const char *text, const char *tenant, const struct url *u,
                  const char *own, int (*add)(void *arg, const char *header),
                  void *arg)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *next = copy, *line;
	int rc = copy ? 0 : -ENOMEM;

	while (!rc && (line = strsep(&next, "\n"))) {
		struct row r;

		if (read_row(line, &r) && r.header &&
		    conf_list_has(r.tenant, tenant) &&
		    url_allowed(r.host, u, own))
			rc = add(arg, r.header);
	}
	return rc;
}

unsigned
collector_headers_check(const char *text)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *next = copy, *line;
	struct row r;

	for (unsigned i = 1; copy && (line = strsep(&next, "\n")); i++)
		if (!read_row(line, &r))
			return i;
	return 0;
}
