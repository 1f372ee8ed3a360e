/*
 * stoker join: makes this host part of a fleet.
 *
 * The key for joining works only once. Everything that can fail on this side
 * is therefore tried before it is sent, and a new key that cannot be written
 * is printed.
 */
#include "cli.h"

#include "base/contained.h"
#include "base/file.h"
#include "base/id.h"
#include "base/url.h"
#include "centre.h"
#include "settings.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_LINE_MAX 512

/* --- the centre ----------------------------------------------------------- */

bool
centre_url_ok(const char *url)
{
	struct url u;

	return !url_parse(url, &u) && u.tls && !strpbrk(u.path, "?#");
}

void
centre_http(const struct conf *conf, const char *url, struct http *out)
{
	*out = (struct http){
		.server = url,
		.ca_file = conf->agent_ca_file,
	};
	if (*conf->agent_cert_file) {
		out->cert_file = conf->agent_cert_file;
		out->cert_key_file = conf->agent_cert_key_file;
	}
}

/* --- files ---------------------------------------------------------------- */

/* A file to be replaced: its open folder, and its name there. */
struct replaced_file {
	char *path, *copy, *name;
	int dir;
};
#define CLEANUP_PLACE CLEANUP(place_done)

static void
place_done(struct replaced_file *p)
{
	free(p->path);
	free(p->copy);
	close_ptr(&p->dir);
}

static int
place_open(const char *path, struct replaced_file *p)
{
	p->path = strdup(path);
	p->copy = strdup(path);
	if (!p->path || !p->copy)
		return failed("out of memory");
	p->name = basename(p->copy);
	p->dir = open(dirname(p->path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0 || faccessat(p->dir, ".", W_OK, 0))
		return failed("%s: %s", path, strerror(errno));
	return LEAVE_OK;
}

/* True if the line is the section, or sets the key, named by want: "[agent]",
 * or "url" for "url = x". */
static bool
is_line(const char *line, size_t n, const char *want)
{
	size_t at = strspn(line, " \t"), len = strlen(want), end;

	if (at + len > n || strncmp(line + at, want, len) != 0)
		return false;
	end = at + len + strspn(line + at + len, " \t");
	return *want == '[' || (end < n && line[end] == '=');
}

static size_t
line_length(const char *s)
{
	size_t n = strcspn(s, "\n");

	return n + (s[n] == '\n');
}

/* Copies the text, changing only url of [agent]. */
static void
set_url(const char *text, const char *url, struct buf *out)
{
	bool inside = false, done = false;

	for (size_t n; *text; text += n) {
		n = line_length(text);
		if (inside && !done && is_line(text, n, "url")) {
			buf_addf(out, "url = %s\n", url);
			done = true;
			continue;
		}
		if (inside && !done && text[strspn(text, " \t")] == '[') {
			buf_addf(out, "url = %s\n", url);
			done = true;
		}
		if (text[strspn(text, " \t")] == '[')
			inside = is_line(text, n, "[agent]");
		buf_add(out, text, n);
		if (text[n - 1] != '\n')
			buf_putc(out, '\n');
	}
	if (!done)
		buf_addf(out, "%surl = %s\n", inside ? "" : "\n[agent]\n", url);
}

static int
write_url(const struct replaced_file *p, const char *path, const char *url)
{
	CLEANUP_BUF struct buf old = BUF_INIT(CONF_MAX_BYTES);
	CLEANUP_BUF struct buf new = BUF_INIT(CONF_MAX_BYTES);
	struct stat st = {.st_mode = 0644};
	int rc = file_read(p->dir, p->name, &old);

	if (rc == -ENOENT)
		rc = 0;
	else if (!rc && fstatat(p->dir, p->name, &st, 0))
		rc = -errno;
	if (!rc) {
		set_url(buf_str(&old), url, &new);
		rc = buf_err(&new);
	}
	if (!rc)
		rc = file_replace(p->dir, p->name, st.st_mode & 07777, new.p,
		                  new.len);
	if (!rc && fchownat(p->dir, p->name, st.st_uid, st.st_gid, 0))
		rc = -errno;
	return rc ? failed("%s: %s; set url = %s in [agent] of it", path,
	                   strerror(-rc), url)
	          : LEAVE_OK;
}

static int
write_key(const struct replaced_file *p, const char *path, const char *key)
{
	CLEANUP_BUF struct buf line = BUF_INIT(KEY_LINE_MAX);
	int rc;

	buf_addf(&line, "%s\n", key);
	rc = buf_err(&line)
	             ?: file_replace(p->dir, p->name, 0600, line.p, line.len);
	if (!rc)
		return LEAVE_OK;
	fprintf(stderr, "stoker: %s: %s; write this key there yourself:\n",
	        path, strerror(-rc));
	puts(key);
	return LEAVE_FAILED;
}

/* --- the exchange --------------------------------------------------------- */

static int
read_token(const struct cli *c, char **out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(KEY_LINE_MAX);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	if (c->opt.token || c->opt.token_file) {
		if (token_find(c->opt.token, c->opt.token_file, out, &why))
			return failed("%s", buf_str(&why));
		return LEAVE_OK;
	}
	if (isatty(STDIN_FILENO))
		fputs("The key for joining, which stoker token create NAME "
		      "--role join made on the server:\n",
		      stderr);
	rc = fd_read_all(STDIN_FILENO, &text);
	if (rc)
		return failed("standard input: %s", strerror(-rc));
	*out = strndup(buf_str(&text), strcspn(buf_str(&text), " \t\r\n"));
	if (*out && !**out)
		return failed("standard input holds no key");
	return *out ? LEAVE_OK : failed("out of memory");
}

static int
exchange(struct cli *c, const struct conf *conf, const char *url,
         const char *host, const char *token, struct http_reply *out)
{
	CLEANUP(http_done) struct http h;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *body =
		json_pack("{ss ss}", "token", token, "host", host);
	int rc;

	if (!body)
		return failed("the key is not UTF-8");
	centre_http(conf, url, &h);
	rc = http_call(&h, "POST", "/agent/join", body, out, &why);
	if (rc == -EHOSTUNREACH) {
		failed("%s", buf_str(&why));
		return LEAVE_UNREACHED;
	}
	if (rc)
		return failed("%s", strerror(-rc));
	return out->status == 201 ? LEAVE_OK : tell_reply(c, out);
}

static int
show(const struct cli *c, const struct http_reply *r, const char *key_file)
{
	const json_t *tenants = json_object_get(r->json, "tenants"), *v;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	size_t i;

	if (c->opt.json) {
		j = json_pack("{ss ss sO ss}", "id", json_member(r->json, "id"),
		              "host", json_member(r->json, "host"), "tenants",
		              tenants, "file", key_file);
		return j ? print_json(j) : failed("a name is not UTF-8");
	}
	buf_addf(&out, "This host is '%s' there, for the tenants",
	         json_member(r->json, "host"));
	json_array_foreach(tenants, i, v)
		buf_addf(&out, "%s %s", i ? "," : "", json_string_value(v));
	buf_addf(&out, "; its key is in %s\n", key_file);
	buf_puts(&out,
	         is_contained()
	                 ? "\nStart the container of stoker-worker, and "
	                   "run stoker doctor in it.\n"
	                 : "\n"
	                   "  systemctl restart stoker-worker   # to begin\n"
	                   "  stoker doctor                     "
	                   "# does the centre answer?\n");
	return print(&out);
}

static bool
is_key(const char *key)
{
	return id_valid("stk_", key);
}

int
cmd_join(struct cli *c)
{
	CLEANUP_PLACE struct replaced_file key = {.dir = -1},
					   file = {.dir = -1};
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_FREE char *token = NULL;
	const char *url = c->operands[0];
	char host[CONF_HOST_MAX];
	int rc;

	if (!centre_url_ok(url))
		return usage_error("join takes an address such as "
		                   "https://stoker.example.com, not '%s'",
		                   url);
	if (settings_load(&c->opt, &conf, &why))
		return failed("%s", buf_str(&why));
	if (conf_host(&conf, host))
		return failed("this host has no name: set host in [worker]");
	rc = place_open(conf.agent_key_file, &key);
	if (!rc)
		rc = place_open(settings_file(&c->opt), &file);
	if (!rc)
		rc = read_token(c, &token);
	if (!rc)
		rc = exchange(c, &conf, url, host, token, &r);
	if (rc)
		return rc;
	if (!is_key(json_member(r.json, "key")))
		return failed("%s answered with no key", url);
	rc = write_key(&key, conf.agent_key_file, json_member(r.json, "key"));
	if (!rc)
		rc = write_url(&file, settings_file(&c->opt), url);
	return rc ? rc : show(c, &r, conf.agent_key_file);
}
