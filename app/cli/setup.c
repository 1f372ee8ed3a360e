/*
 * stoker setup: makes the first API key, and stores it where the command line
 * finds it.
 *
 * Root reads and writes the key file. A child that has permanently switched to
 * the store's owner reads the store, since that user controls its contents.
 */
#include "cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "files.h"
#include "key.h"
#include "own_server.h"
#include "settings.h"
#include "survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY_NAME       "setup"
#define READY_S        15 /* a unit restarts its worker within this time */
#define READY_PAUSE_US 200000

/* The file that keeps the key. */
struct key_file {
	struct buf path; /* path of the file */
	int dir;         /* the file's folder, locked */
	char *key;       /* from the file; NULL without a file */
};

/* The state of the store, as the child found it. */
struct found {
	enum { MADE, KNOWN, UNKNOWN, ANOTHER } what;
	char id[ID_MAX];           /* not for UNKNOWN */
	char role[STORE_NAME_MAX]; /* not for UNKNOWN */
	char key[TOKEN_KEY_MAX];   /* for MADE only */
};

static void
place_done(struct key_file *p)
{
	buf_done(&p->path);
	close_ptr(&p->dir);
	free(p->key);
}

static int
place_open(struct key_file *p)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	token_home(&p->path);
	if (!p->path.len)
		return failed("HOME is not set: nowhere to keep a key");
	rc = buf_err(&p->path) ? buf_err(&p->path) : folders_make(p->path.p);
	if (rc)
		return failed("%s: %s", buf_str(&p->path), strerror(-rc));
	p->dir = open(p->path.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0 || faccessat(p->dir, ".", W_OK, 0) ||
	    flock(p->dir, LOCK_EX))
		return failed("%s: %s", p->path.p, strerror(errno));
	buf_puts(&p->path, "/" TOKEN_FILE);
	if (faccessat(p->dir, TOKEN_FILE, F_OK, 0))
		return LEAVE_OK;
	if (token_find(NULL, buf_str(&p->path), &p->key, &why))
		return failed("%s", buf_str(&why));
	return LEAVE_OK;
}

static bool
is_admins(const struct token *t, int64_t now_ms)
{
	return !strcmp(t->role, "admin") && !t->revoked_ms &&
	       (!t->expires_ms || t->expires_ms > now_ms);
}

static void
found_token(const struct token *t, struct found *out)
{
	snprintf(out->id, sizeof(out->id), "%s", t->id);
	snprintf(out->role, sizeof(out->role), "%s", t->role);
}

/* Finds a key of the role admin. Returns -ENOENT if there is none. */
static int
find_admin(struct store *s, struct found *out)
{
	CLEANUP_FREE char *cursor = strdup("");
	int64_t now_ms;
	int rc = cursor ? store_now(s, &now_ms) : -ENOMEM;

	while (!rc && cursor) {
		CLEANUP_TOKENS struct token_list list = {0};
		struct page page = {.limit = STORE_PAGE_MAX, .cursor = cursor};

		rc = token_list(s, "*", page, &list);
		for (size_t i = 0; !rc && i < list.n; i++)
			if (is_admins(&list.items[i], now_ms)) {
				found_token(&list.items[i], out);
				return 0;
			}
		free(cursor);
		cursor = TAKE(list.next);
	}
	return rc ? rc : -ENOENT;
}

static int
find_key(struct store *s, const char *key, struct found *out)
{
	CLEANUP_TOKEN struct token t = {0};
	int rc = token_check(s, key, &t);

	out->what = KNOWN;
	if (!rc)
		found_token(&t, out);
	if (rc != -ENOENT && rc != -EKEYEXPIRED && rc != -EKEYREVOKED)
		return rc;
	out->what = UNKNOWN;
	return 0;
}

static int
make_key(struct store *s, struct found *out)
{
	const struct token_ask ask = {
		.name = KEY_NAME,
		.role = "admin",
		.tenants = TENANT_DEFAULT,
		.default_tenant = TENANT_DEFAULT,
	};
	int rc = find_admin(s, out);

	out->what = ANOTHER;
	if (rc != -ENOENT)
		return rc;
	out->what = MADE;
	snprintf(out->role, sizeof(out->role), "%s", ask.role);
	return key_make(s, &ask, "stoker setup", out->id, out->key);
}

/* The work of the child; returns its exit status. */
static int
look_into_store(const struct options *o, const char *key, int to)
{
	CLEANUP_STORE struct store s = {.profiles_fd = -1, .segments_fd = -1};
	struct found f = {0};
	int rc = key_store(o, &s);

	if (rc)
		return rc;
	rc = key ? find_key(&s, key, &f) : make_key(&s, &f);
	if (rc)
		return failed("the store: %s", strerror(-rc));
	rc = fd_write_all(to, &f, sizeof(f));
	return rc ? failed("%s", strerror(-rc)) : LEAVE_OK;
}

/* Checks the child's answer, which depends on data that other users may have
 * written. */
static bool
is_sound(const struct found *f)
{
	if (!memchr(f->id, 0, sizeof(f->id)) ||
	    !memchr(f->role, 0, sizeof(f->role)) ||
	    !memchr(f->key, 0, sizeof(f->key)))
		return false;
	return (f->what == UNKNOWN || id_valid(TOKEN_PREFIX, f->id)) &&
	       (f->what != KNOWN || id_valid("", f->role)) &&
	       (f->what != MADE || id_valid(TOKEN_KEY_PREFIX, f->key)) &&
	       f->what <= ANOTHER;
}

static int
ask_store(const struct options *o, const char *key, struct found *out)
{
	CLEANUP_BUF struct buf said = BUF_INIT(sizeof(*out));
	CLEANUP_FD int from = -1, to = -1;
	int ends[2], status, rc;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return failed("%s", strerror(errno));
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child < 0)
		return failed("%s", strerror(errno));
	if (!child)
		_exit(look_into_store(o, key, to));
	close_ptr(&to);
	rc = fd_read_all(from, &said);
	if (waitpid(child, &status, 0) < 0 || rc || !WIFEXITED(status))
		return failed("the store could not be read");
	if (WEXITSTATUS(status) || said.len != sizeof(*out))
		return WEXITSTATUS(status) ? WEXITSTATUS(status) : LEAVE_FAILED;
	memcpy(out, said.p, sizeof(*out));
	return is_sound(out) ? LEAVE_OK
	                     : failed("the store returned something that is "
	                              "not a token");
}

/* Writes the key. If that fails, prints it, since it could not be shown
 * later. */
static int
keep(const struct key_file *p, const struct found *f)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_addf(&line, "%s\n", f->key);
	rc = buf_err(&line);
	if (!rc)
		rc = file_replace(p->dir, TOKEN_FILE, 0600, line.p, line.len);
	if (!rc)
		return LEAVE_OK;
	fprintf(stderr, "stoker: %s: %s; keep this key yourself:\n",
	        buf_str(&p->path), strerror(-rc));
	puts(f->key);
	return LEAVE_FAILED;
}

/* Waits for the worker of a package that was installed a moment ago, so that
 * the commands shown next work. */
static bool
becomes_ready(struct http *h)
{
	int64_t end_ns = clock_mono_ns() + READY_S * NS_PER_S;

	for (;;) {
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		if (http_call(h, "GET", "/readyz", NULL, &r, &why))
			return false;
		if (r.status != 503 || clock_mono_ns() > end_ns)
			return r.status == 200;
		usleep(READY_PAUSE_US);
	}
}

static enum own_server
ask_server(struct cli *c, const struct conf *conf, bool *ready)
{
	enum own_server server = own_server(&c->http, conf);

	*ready = server == OWN_YES && becomes_ready(&c->http);
	return server;
}

static void
put_server(struct buf *out, const struct cli *c, enum own_server server,
           bool ready, const char *url)
{
	if (ready)
		buf_addf(out,
		         "Stoker answers at %s; every call can be tried at "
		         "%s/docs/\n"
		         "\n"
		         "  stoker doctor                          "
		         "# does this machine lack anything?\n"
		         "  stoker top                             "
		         "# what uses the CPU here now\n"
		         "  stoker run --all --seconds 10s --wait  "
		         "# the same as a flame graph\n"
		         "  stoker ps                              "
		         "# what runs here, and how to profile it\n"
		         "  stoker ui                              "
		         "# the web pages, signed in\n",
		         url, url);
	else if (server == OWN_NO)
		buf_addf(out,
		         "%s is not this one: " OWN_NO_FOUND "\n"
		         "  stoker doctor shows how to end it\n",
		         c->http.server);
	else
		buf_addf(out,
		         "%s %s\n"
		         "  stoker doctor shows what is missing\n",
		         c->http.server,
		         server == OWN_YES ? "answers, but is not ready"
		                           : "does not answer yet");
}

/* Takes some seconds, so the other lines are printed before. */
static int
show_busiest(struct cli *c)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&out, "  ");
	ps_busiest(c, &out);
	buf_putc(&out, '\n');
	return out.len > strlen("  \n") ? print(&out) : LEAVE_OK;
}

static int
show(struct cli *c, const struct key_file *p, const struct found *f,
     enum own_server server, bool ready, const char *url)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;

	if (c->opt.json) {
		j = json_pack("{ss ss ss sb ss}", "id", f->id, "role", f->role,
		              "file", buf_str(&p->path), "made",
		              f->what == MADE, "url", url);
		return j ? print_json(j) : failed("a name is not UTF-8");
	}
	buf_addf(&out, "%s %s, role %s, kept in %s\n",
	         f->what == MADE ? "Made the key" : "There is a key already:",
	         f->id, f->role, buf_str(&p->path));
	put_server(&out, c, server, ready, url);
	if (print(&out))
		return LEAVE_FAILED;
	return ready ? show_busiest(c) : LEAVE_OK;
}

static int
refuse(const struct key_file *p, const struct found *f)
{
	const char *path = buf_str(&p->path);

	if (f->what == UNKNOWN)
		return failed(
			"the key in %s does not open this store\n"
			"  for one that does: mv %s %s.old && stoker token "
			"create NAME --role admin >%s",
			path, path, path, path);
	return failed(
		"this store has an admin's key, %s, and %s does not "
		"exist\n"
		"  for one more: stoker token create NAME --role admin >%s",
		f->id, path, path);
}

int
cmd_setup(struct cli *c)
{
	CLEANUP(place_done)
	struct key_file place = {.path = BUF_INIT(BUF_MAX_SMALL), .dir = -1};
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct found found = {0};
	enum own_server server;
	bool ready;
	int rc;

	if (settings_load(&c->opt, &conf, &why))
		return failed("%s", buf_str(&why));
	rc = place_open(&place);
	if (!rc)
		rc = ask_store(&c->opt, place.key, &found);
	if (rc)
		return rc;
	if (found.what == UNKNOWN || found.what == ANOTHER)
		return refuse(&place, &found);
	if (found.what == MADE && keep(&place, &found))
		return LEAVE_FAILED;
	free(c->http.token);
	c->http.token = strdup(found.what == MADE ? found.key : place.key);
	if (!c->http.token)
		return failed("%s", strerror(ENOMEM));
	server = ask_server(c, &conf, &ready);
	return show(c, &place, &found, server, ready, conf.api_public_url);
}
