#include "multipart.h"

#include "accept.h"

#include <errno.h>
#include <string.h>

#define TYPE         "multipart/form-data"
#define MAX_BOUNDARY 70 /* RFC 2046 */

bool
multipart_is(const char *content_type)
{
	return content_is(content_type, TYPE);
}

/* Writes "--BOUNDARY" to out. Returns its length, or 0. */
static size_t
boundary(const char *type, char out[static MAX_BOUNDARY + 3])
{
	const char *at = strcasestr(type, "boundary=");
	size_t n;

	if (!at)
		return 0;
	at += strlen("boundary=");
	if (*at == '"')
		n = strcspn(++at, "\"");
	else
		n = strcspn(at, "; ");
	if (!n || n > MAX_BOUNDARY)
		return 0;
	memcpy(out, "--", 2);
	memcpy(out + 2, at, n);
	out[2 + n] = '\0';
	return 2 + n;
}

/* True when a part's headers name this field. */
static bool
names(const char *head, size_t n, const char *field)
{
	static const char key[] = "; name=\"";
	const char *at = memmem(head, n, key, sizeof(key) - 1);
	size_t len = strlen(field);

	if (!at)
		return false;
	at += sizeof(key) - 1;
	return (size_t)(head + n - at) > len && !memcmp(at, field, len) &&
	       at[len] == '"';
}

/* Finds the part at *at, which is right after a boundary; returns 1 after the
 * last part. */
static int
next_part(const char **at, const char *end, const char *mark, size_t nmark,
          struct part *head, struct part *body)
{
	const char *p = *at, *blank, *stop;

	if (end - p >= 2 && !memcmp(p, "--", 2))
		return 1;
	blank = memmem(p, (size_t)(end - p), "\r\n\r\n", 4);
	if (!blank)
		return -EBADMSG;
	*head = (struct part){p, (size_t)(blank - p)};
	p = blank + 2; /* the boundary of an empty part begins with this line
	                  end */
	for (;;) {
		stop = memmem(p, (size_t)(end - p), mark, nmark);
		if (!stop || stop - 2 < blank + 2)
			return -EBADMSG;
		if (!memcmp(stop - 2, "\r\n", 2))
			break;
		p = stop + 1;
	}
	*body = (struct part){blank + 4, 0};
	if (stop - 2 > blank + 4)
		body->n = (size_t)(stop - 2 - (blank + 4));
	*at = stop + nmark;
	return 0;
}

int
multipart_find(const char *content_type, const char *body, size_t n,
               const char *field, struct part *out)
{
	char mark[MAX_BOUNDARY + 3];
	size_t nmark = boundary(content_type, mark);
	const char *end = body + n, *at;
	struct part head, content, found = {0};
	int r = 0;

	at = nmark ? memmem(body, n, mark, nmark) : NULL;
	if (!at)
		return -EBADMSG;
	at += nmark;
	for (int i = 0; i < MULTIPART_MAX_PARTS; i++) {
		r = next_part(&at, end, mark, nmark, &head, &content);
		if (r)
			break;
		if (!found.p && names(head.p, head.n, field))
			found = content;
	}
	if (r != 1)
		return -EBADMSG;
	*out = found;
	return 0;
}
