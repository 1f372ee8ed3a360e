#include "own_server.h"

#include "become.h"
#include "store/token.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KNOWN, STRANGE, UNSEEN };

/* The work of the child; returns its exit status. */
static int
look_up(const struct conf *conf, const char *key)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TOKEN struct token t = {0};
	struct store s = {0};
	int rc;

	/* db_close() is left to the end of the process. */
	if (become_owner(conf->store_dir) || store_look(conf, &s.db, &why))
		return UNSEEN;
	rc = token_check(&s, key, &t);
	if (!rc)
		return KNOWN;
	return rc == -ENOENT ? STRANGE : UNSEEN;
}

static int
store_knows(const struct conf *conf, const char *key)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(look_up(conf, key));
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return UNSEEN;
	return WEXITSTATUS(status);
}

/* Any key may list services. */
static int
server_knows(struct http *h)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	if (http_call(h, "GET", "/api/v1/services?limit=1", NULL, &r, &why))
		return UNSEEN;
	return r.status == 200 ? KNOWN : r.status == 401 ? STRANGE : UNSEEN;
}

enum own_server
own_server(struct http *h, const struct conf *conf)
{
	int server, store;

	if (http_is_remote(h->server) || !h->token ||
	    !id_valid(TOKEN_KEY_PREFIX, h->token))
		return OWN_UNKNOWN;
	store = store_knows(conf, h->token);
	if (store == UNSEEN)
		return OWN_UNKNOWN;
	server = server_knows(h);
	if (server == UNSEEN)
		return OWN_UNKNOWN;
	return server == store ? OWN_YES : OWN_NO;
}
