#include "named.h"

#include "near.h"
#include "result.h"
#include "session.h"
#include "store/session.h"
#include "store/window.h"
#include "table.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LAST      "@last"
#define LAST_MOST 99

const char *
type_asked(const struct cli *c)
{
	return c->opt.type ? c->opt.type : "cpu";
}

/* Appends "sess-...: cpu of web, 14:03:22, 331 samples". */
static void
put_profile(const struct cli *c, const json_t *p, struct buf *out)
{
	buf_addf(out, "%s: %s of %s, ", json_member(p, "id"),
	         json_member(p, "profileType"), json_member(p, "service"));
	screen_time(&c->screen, json_member(p, "startedAt"), out);
	if (strcmp(json_member(p, "status"), "completed") != 0)
		buf_addf(out, ", %s", json_member(p, "status"));
}

static int
take(const struct cli *c, const char *word, const json_t *p,
     char out[static ID_MAX])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const char *id = json_member(p, "id");

	if (!id_valid("", id))
		return failed("the server named no profile");
	snprintf(out, ID_MAX, "%s", id);
	put_profile(c, p, &text);
	safe_puts(&line, buf_str(&text));
	if (!c->opt.json)
		fprintf(stderr, "%s is %s\n", word, buf_str(&line));
	return LEAVE_OK;
}

/* --- ids ------------------------------------------------------------------ */

/* True if word is prefix and characters of an id. A dot and a range, which
 * name a part of a capture, may follow. */
static bool
begins_id(const char *word, const char *prefix)
{
	static const char random[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t n = strlen(prefix), end = n;

	if (strncmp(word, prefix, n) != 0)
		return false;
	end += strspn(word + n, random);
	return !word[end] || word[end] == '.';
}

/* True for an id or the beginning of one, at least its prefix. */
static bool
is_id(const char *word)
{
	return begins_id(word, SESSION_PREFIX) ||
	       begins_id(word, WINDOW_PREFIX);
}

static bool
is_whole(const char *id)
{
	return strcspn(strchr(id, '-') + 1, ".") == ID_RANDOM_CHARS;
}

static int
ambiguous(const struct cli *c, const char *word, const json_t *found)
{
	CLEANUP_BUF struct buf list = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf safe = BUF_INIT(BUF_MAX_SMALL);
	const json_t *p;
	size_t i;

	failed("%s is the beginning of several ids:", word);
	json_array_foreach(found, i, p) {
		buf_clear(&list);
		buf_clear(&safe);
		put_profile(c, p, &list);
		safe_puts(&safe, buf_str(&list));
		fprintf(stderr, "  %s\n", buf_str(&safe));
	}
	return LEAVE_FAILED;
}

/* Finds the only id that begins with this word. */
static int
by_id(struct cli *c, const char *word, char out[static ID_MAX])
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE char *id = strndup(word, strcspn(word, "."));
	const char *part = word + strcspn(word, ".");
	const json_t *found;
	int rc;

	if (!id)
		return failed("out of memory");
	if (is_whole(word)) {
		snprintf(out, ID_MAX, "%s", word);
		return LEAVE_OK;
	}
	buf_puts(&path, PROFILES "/find");
	query_add(&path, "id", id);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	found = json_object_get(r.json, "items");
	if (!json_array_size(found))
		return failed("no profile's id begins with %s", id);
	if (json_array_size(found) > 1)
		return ambiguous(c, id, found);
	snprintf(out, ID_MAX, "%s%s",
	         json_member(json_array_get(found, 0), "id"), part);
	return id_valid("", out) ? LEAVE_OK
	                         : failed("the server named no profile");
}

/* --- the newest ----------------------------------------------------------- */

/* Fetches the nth newest session that a query lists. Sets *out to NULL if there
 * are fewer. */
static int
ask_newest(struct cli *c, struct buf *path, long nth, json_t **out)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	char limit[24];
	int rc;

	snprintf(limit, sizeof(limit), "%ld", nth + 1);
	query_add(path, "limit", limit);
	rc = ask(c, "GET", buf_str(path), NULL, &r);
	if (!rc)
		*out = json_incref(json_array_get(
			json_object_get(r.json, "items"), (size_t)nth));
	return rc;
}

/* Reads "@last~N:SERVICE". Returns false if the word is malformed. */
static bool
read_last(const char *word, long *nth, const char **service)
{
	const char *p = word + strlen(LAST);
	char *end = (char *)p;

	*nth = 0;
	*service = NULL;
	if (*p == '~') {
		if (!isdigit((unsigned char)p[1]))
			return false;
		*nth = strtol(p + 1, &end, 10);
	}
	if (*end == ':')
		*service = end + 1;
	return (!*end || (*service && **service)) && *nth <= LAST_MOST;
}

/* Reports that there are fewer profiles, or that the service does not exist. */
static int
explain_few(struct cli *c, const char *word, const char *service)
{
	int rc = service ? need_service(c, service) : LEAVE_OK;

	if (rc)
		return rc;
	if (c->opt.type)
		return failed(
			"%s: there are not that many complete profiles of "
			"type %s\n"
			"  stoker sessions lists those of all types",
			word, c->opt.type);
	return failed("%s: there are not that many complete profiles\n"
	              "  stoker sessions lists all",
	              word);
}

/* Mentions a newer profile that was not chosen because it is incomplete. */
static int
tell_newer(struct cli *c, struct buf *path, const char *id)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *p = NULL;
	int rc = c->opt.json ? LEAVE_OK : ask_newest(c, path, 0, &p);

	if (rc || !p || !strcmp(json_member(p, "id"), id))
		return rc;
	put_profile(c, p, &text);
	safe_puts(&line, buf_str(&text));
	fprintf(stderr, "  newer: %s\n", buf_str(&line));
	return LEAVE_OK;
}

/* complete: consider only complete profiles. */
static int
by_age(struct cli *c, const char *word, bool complete, char out[static ID_MAX])
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf any = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *p = NULL;
	const char *service;
	long nth;
	int rc;

	if (!read_last(word, &nth, &service))
		return usage_error(
			"'%s' is not a profile: @last, @last~N up to "
			"%d, @last:SERVICE or @last~N:SERVICE",
			word, LAST_MOST);
	buf_puts(&path, PROFILING "/sessions");
	query_add(&path, "service", service);
	query_add(&path, "profileType", c->opt.type);
	buf_puts(&any, buf_str(&path));
	if (complete)
		query_add(&path, "status", "completed");
	rc = ask_newest(c, &path, nth, &p);
	if (rc)
		return rc;
	if (!p)
		return explain_few(c, word, service);
	rc = take(c, word, p, out);
	return rc || nth ? rc : tell_newer(c, &any, out);
}

/* --- by service ----------------------------------------------------------- */

/* Reports that a service has no such profile, or does not exist. */
static int
explain_none(struct cli *c, const char *word, const char *type)
{
	int rc = need_service(c, word);

	if (rc)
		return rc;
	return failed("'%s' has no complete %s profile\n"
	              "  stoker sessions --service %s lists its profiles",
	              word, type, word);
}

static int
by_service(struct cli *c, const char *word, const char *type,
           char out[static ID_MAX])
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *p = NULL;
	int rc;

	if (!id_valid("", word))
		return usage_error(
			"'%s' is not a profile: give an id, @last, or "
			"the name of a service",
			word);
	buf_puts(&path, PROFILING "/sessions?status=completed");
	query_add(&path, "service", word);
	query_add(&path, "profileType", type);
	rc = ask_newest(c, &path, 0, &p);
	if (rc)
		return rc;
	return p ? take(c, word, p, out) : explain_none(c, word, type);
}

int
profile_named(struct cli *c, const char *word, const char *type,
              char out[static ID_MAX])
{
	if (word[0] == '@')
		return strncmp(word, LAST, strlen(LAST))
		               ? usage_error(
					 "'%s' is not a profile: only @last "
					 "begins with @",
					 word)
		               : by_age(c, word, type, out);
	if (is_id(word))
		return by_id(c, word, out);
	if (!type)
		return usage_error(
			"'%s' is not a profile: give its id, or @last", word);
	return by_service(c, word, type, out);
}

/* --- items of other lists ------------------------------------------------- */

static bool
begins(const char *id, const char *word, const char *prefix)
{
	return !strncmp(word, prefix, strlen(prefix)) &&
	       !strncmp(id, word, strlen(word));
}

static bool
is_called(const json_t *item, const struct kind_named *k, const char *word)
{
	return !strcmp(json_member(item, k->name), word);
}

/* Returns the items whose id begins with word or, if there are none, those with
 * that name. */
static json_t *
find_items(const json_t *items, const struct kind_named *k, const char *word)
{
	CLEANUP_JSON json_t *by_id = json_array();
	CLEANUP_JSON json_t *by_name = json_array();
	json_t *item;
	size_t i;

	json_array_foreach(items, i, item) {
		if (begins(json_member(item, k->id), word, k->prefix))
			json_array_append(by_id, item);
		else if (is_called(item, k, word))
			json_array_append(by_name, item);
	}
	return json_array_size(by_id) ? TAKE(by_id) : TAKE(by_name);
}

static int
no_item(const json_t *items, const struct kind_named *k, const char *word)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct near near = NEAR(word);
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
		near_try(&near, json_member(item, k->name));
	buf_addf(&why, "no %s is called '%s'", k->what, word);
	near_show(&near, &why);
	return failed("%s", buf_str(&why));
}

static int
several(const json_t *found, const struct kind_named *k, const char *word)
{
	CLEANUP_BUF struct buf ids = BUF_INIT(BUF_MAX_SMALL);
	const json_t *item;
	size_t i;

	json_array_foreach(found, i, item) {
		buf_puts(&ids, "\n  ");
		safe_puts(&ids, json_member(item, k->id));
		buf_puts(&ids, "  ");
		safe_puts(&ids, json_member(item, k->name));
	}
	return failed("'%s' may be any of these:%s", word, buf_str(&ids));
}

int
item_named(const json_t *items, const struct kind_named *k, const char *word,
           const json_t **out)
{
	CLEANUP_JSON json_t *found = find_items(items, k, word);
	const json_t *first = json_array_get(found, 0);

	if (!first)
		return no_item(items, k, word);
	if (json_array_size(found) > 1 &&
	    !(k->newest && is_called(first, k, word)))
		return several(found, k, word);
	*out = first;
	return LEAVE_OK;
}
