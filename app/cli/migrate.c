/* stoker migrate: brings the database up to date for this release, and moves an
 * SQLite store to PostgreSQL. */
#include "cli.h"

#include "become.h"
#include "settings.h"
#include "store/move.h"
#include "store/store.h"
#include "table.h"

#include <errno.h>
#include <string.h>

/* Adds a row with the numbers before and after the move. */
static void
add(json_t *rows, const char *what, int64_t before, int64_t after)
{
	json_array_append_new(rows, json_pack("{ss sI sI}", "table", what,
	                                      "before", (json_int_t)before,
	                                      "after", (json_int_t)after));
}

static int
show(const struct cli *c, const struct move_report *r)
{
	static const struct column columns[] = {
		{"WHAT", "table", LEFT, PLAIN},
		{"BEFORE", "before", RIGHT, PLAIN},
		{"AFTER", "after", RIGHT, PLAIN},
	};
	CLEANUP_JSON json_t *rows = json_array();

	for (size_t i = 0; i < r->n; i++)
		add(rows, r->counts[i].table, r->counts[i].before,
		    r->counts[i].after);
	add(rows, "profiles whose bytes moved", r->profiles, r->profiles);
	add(rows, "bytes of profiles", r->profile_bytes, r->profile_bytes);
	add(rows, "bytes of windows", r->window_bytes, r->window_bytes);
	return items_show(c, rows, columns, ARRAY_LEN(columns));
}

static int
move(const struct cli *c, const struct conf *conf)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct move_report r = {0};
	int rc = store_move(conf, &r, &why);

	return rc ? failed("%s", why.len ? buf_str(&why) : strerror(-rc))
	          : show(c, &r);
}

/* Returns LEAVE_OK, or prints an error if there is no database to move to. */
static int
check_move(const struct cli *c, const struct conf *conf)
{
	return db_is_remote(conf->store_database)
	               ? LEAVE_OK
	               : failed("database in [store] of %s does not name a "
	                        "PostgreSQL database to move the store to",
	                        settings_file(&c->opt));
}

int
cmd_migrate(struct cli *c)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	int64_t version;
	int rc;

	if (settings_load(&c->opt, &conf, &why))
		return failed("%s", buf_str(&why));
	rc = c->opt.from_sqlite ? check_move(c, &conf) : LEAVE_OK;
	if (rc)
		return rc;
	rc = become_owner(conf.store_dir);
	if (rc)
		return failed("%s: %s", conf.store_dir, strerror(-rc));
	rc = store_migrate(&conf, &version, &why);
	if (rc)
		return failed("%s", why.len ? buf_str(&why) : strerror(-rc));
	if (c->opt.from_sqlite)
		return move(c, &conf);
	buf_addf(&out, "the database has schema %lld\n", (long long)version);
	return print(&out);
}
