#include "key.h"

#include "become.h"
#include "cli.h"
#include "settings.h"
#include "store/audit.h"

#include <string.h>

int
key_make(struct store *s, const struct token_ask *ask, const char *actor,
         char id[static ID_MAX], char key[static TOKEN_KEY_MAX])
{
	struct audit line = {
		.tenant = (char *)ask->default_tenant,
		.actor = (char *)actor,
		.action = (char *)"CreateToken",
		.request_id = (char *)"",
		.detail = (char *)"{}",
	};
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = token_create(s, ask, id, key);
	line.target = id;
	if (!rc)
		rc = audit_add(s, &line);
	if (!rc)
		rc = store_commit(s);
	if (rc)
		store_rollback(s);
	return rc;
}

int
key_store(const struct options *o, struct store *out)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	const char *dir;
	int rc;

	if (settings_load(o, &conf, &why))
		return failed("%s", buf_str(&why));
	dir = conf.store_dir;
	rc = become_owner(dir);
	if (rc)
		return failed("%s: %s", dir, strerror(-rc));
	rc = store_open(&conf, false, out, &why);
	if (rc && why.len)
		return failed("%s", buf_str(&why));
	return rc ? failed("%s: %s", dir, strerror(-rc)) : LEAVE_OK;
}
