/* stoker migrate: the database is made ready for this release. */
#include "cli.h"

#include "become.h"
#include "settings.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>

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
	rc = become_owner(conf.store_dir);
	if (rc)
		return failed("%s: %s", conf.store_dir, strerror(-rc));
	rc = store_migrate(&conf, &version, &why);
	if (rc)
		return failed("%s", why.len ? buf_str(&why) : strerror(-rc));
	buf_addf(&out, "the database has schema %lld\n", (long long)version);
	return print(&out);
}
