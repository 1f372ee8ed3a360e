/* Fetches lists of the API, page by page, and shows them as one table. */
#include "cli.h"

#include "table.h"

#include <string.h>

#define PAGE 500 /* most items in a page of the API */

/* The reply may be from a server that is not Stoker. */
static int
items_of(const struct http_reply *r, json_t **out)
{
	*out = json_object_get(r->json, "items");
	return json_is_array(*out) ? LEAVE_OK
	                           : failed("the server did not answer as its "
	                                    "API says");
}

/* Appends one page, and sets *cursor to the next page's, or to NULL. */
static int
add_page(struct cli *c, const char *path, size_t want, json_t *items,
         char **cursor)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	const char *next;
	json_t *page;
	int rc;

	buf_addf(&at, "%s%climit=%zu", path, strchr(path, '?') ? '&' : '?',
	         want < PAGE ? want : PAGE);
	if (*cursor) {
		buf_puts(&at, "&cursor=");
		url_escape(&at, *cursor);
	}
	rc = ask(c, "GET", buf_str(&at), NULL, &r) ?: items_of(&r, &page);
	if (rc)
		return rc;
	json_array_extend(items, page);
	next = json_string_value(json_object_get(r.json, "nextCursor"));
	free(*cursor);
	*cursor = next && *next ? strdup(next) : NULL;
	return LEAVE_OK;
}

int
list_ask(struct cli *c, const char *path, json_t **out)
{
	CLEANUP_JSON json_t *items = json_array();
	CLEANUP_FREE char *cursor = NULL;
	size_t limit = c->opt.limit < 0 ? SIZE_MAX : (size_t)c->opt.limit;
	size_t had;

	do {
		int rc;

		had = json_array_size(items);
		if (had >= limit)
			break;
		rc = add_page(c, path, limit - had, items, &cursor);
		if (rc)
			return rc;
	} while (cursor && json_array_size(items) > had);
	*out = TAKE(items);
	return LEAVE_OK;
}

int
list_of_service(struct cli *c, const char *path, json_t **out)
{
	CLEANUP_JSON json_t *items = NULL;
	int rc = list_ask(c, path, &items);

	if (!rc && !json_array_size(items) && c->opt.service)
		rc = need_service(c, c->opt.service);
	if (!rc)
		*out = TAKE(items);
	return rc;
}

int
items_show(const struct cli *c, const json_t *items,
           const struct column *columns, size_t n)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (c->opt.json)
		return print_json(items);
	if (!json_array_size(items))
		buf_puts(&out, "none\n");
	else
		table_show_to(&out, columns, n, items, &c->screen);
	return print(&out);
}

int
whole_list_show(struct cli *c, const char *path, const struct column *columns,
                size_t n)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	json_t *items = NULL;
	int rc = ask(c, "GET", path, NULL, &r) ?: items_of(&r, &items);

	return rc ? rc : items_show(c, items, columns, n);
}

int
list_show(struct cli *c, const char *path, const struct column *columns,
          size_t n)
{
	CLEANUP_JSON json_t *items = NULL;
	int rc = list_ask(c, path, &items);

	return rc ? rc : items_show(c, items, columns, n);
}
