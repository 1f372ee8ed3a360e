/* stoker version: the releases of this program, the server and its workers. */
#include "cli.h"

#include "base/version.h"

#include "table.h"
#include "text.h"

static void
put_release(struct buf *out, const char *what, const char *version,
            const char *where)
{
	CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&title, what);
	buf_putc(&title, ' ');
	buf_puts(out, buf_str(&title));
	text_pad(out, title.len < 8 ? 8 - title.len : 0);
	safe_puts(out, version);
	if (*where) {
		buf_puts(out, "  on ");
		safe_puts(out, where);
	}
	buf_putc(out, '\n');
}

/* Shows the workers, which requires a token. */
static void
put_workers(struct cli *c, struct buf *out)
{
	CLEANUP_JSON json_t *list = ask_quietly(c, "/api/v1/workers");
	const json_t *worker;
	size_t i;

	json_array_foreach(json_object_get(list, "items"), i, worker)
		put_release(out, "worker", json_member(worker, "version"),
		            json_member(worker, "host"));
}

static int
version_json(struct cli *c, const json_t *health)
{
	CLEANUP_JSON json_t *list = ask_quietly(c, "/api/v1/workers");
	CLEANUP_JSON json_t *workers = json_array();
	CLEANUP_JSON json_t *all = NULL;
	const json_t *worker;
	size_t i;

	json_array_foreach(json_object_get(list, "items"), i, worker)
		json_array_append_new(
			workers,
			json_pack("{sO sO}", "host",
		                  json_object_get(worker, "host"), "version",
		                  json_object_get(worker, "version")));
	all = json_pack("{ss so sO}", "client", stoker_version, "server",
	                health ? json_incref(json_object_get(health, "version"))
	                       : json_null(),
	                "workers", workers);
	return print_json(all);
}

int
cmd_version(struct cli *c)
{
	CLEANUP_JSON json_t *health = ask_quietly(c, "/healthz");
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	if (c->opt.json)
		return version_json(c, health);
	put_release(&out, "stoker", stoker_version, "");
	if (health)
		put_release(&out, "server", json_member(health, "version"),
		            c->http.server);
	else
		buf_addf(&out, "server  does not answer at %s\n",
		         c->http.server);
	put_workers(c, &out);
	return print(&out);
}
