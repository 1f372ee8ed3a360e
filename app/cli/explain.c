/* stoker explain: a text about profiles of a service. */
#include "cli.h"

#include "http.h"

static int
explain_path(struct cli *c, struct buf *path)
{
	const struct options *o = &c->opt;
	int rc;

	buf_puts(path, "/api/v1/services/");
	url_escape(path, c->operands[0]);
	buf_puts(path, "/explanation");
	query_add(path, "function", c->noperands > 1 ? c->operands[1] : NULL);
	query_add(path, "about", o->about);
	query_add(path, "profileType", o->type);
	rc = query_time(c, "--from", "from", o->from, path);
	return rc ? rc : query_time(c, "--to", "to", o->to, path);
}

int
cmd_explain(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	int rc = explain_path(c, &path);

	if (!rc)
		rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	if (!c->opt.json)
		return print_reply(&r.body);
	j = json_pack("{so}", "text", json_text(buf_str(&r.body)));
	return print_json(j);
}
