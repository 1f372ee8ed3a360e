/* stoker debuginfo: debug files on the server, which provide names for
 * profiles that were pushed or uploaded without them. */
#include "cli.h"

#include "capture/local_debug.h"
#include "table.h"

#include <errno.h>
#include <string.h>

#define FILES    "/api/v1/debug-files"
#define MAX_FILE ((size_t)1 << 30)

static int
read_file(const char *path, struct local_debug *out)
{
	int rc = local_debug_read(path, MAX_FILE, out);

	if (rc == -ENOEXEC)
		return failed("%s: not an ELF file for x86-64 or 64-bit ARM",
		              path);
	if (rc == -ENODATA)
		return failed("%s: it has no symbols and no debug information: "
		              "name the file before it was stripped",
		              path);
	return rc ? failed("%s: %s", path, strerror(-rc)) : LEAVE_OK;
}

static int
push(struct cli *c, const char *file)
{
	CLEANUP_LOCAL_DEBUG struct local_debug d = {.bytes = BUF_INIT(0)};
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	struct content body = {.type = "application/octet-stream"};
	const char *slash = strrchr(file, '/');
	int rc = read_file(file, &d);

	if (rc)
		return rc;
	buf_puts(&path, FILES);
	query_add(&path, "buildId", d.build_id);
	query_add(&path, "goBuildId", *d.go_id ? d.go_id : NULL);
	query_add(&path, "htlhash", d.htlhash);
	query_add(&path, "name", slash ? slash + 1 : file);
	body.p = d.bytes.p;
	body.n = d.bytes.len;
	rc = ask_send(c, buf_str(&path), &body, &r);
	if (rc || c->opt.json)
		return rc ? rc : print_json(r.json);
	return print_done(c, file, d.build_id);
}

int
cmd_debuginfo_push(struct cli *c)
{
	int rc = LEAVE_OK;

	for (size_t i = 0; i < c->noperands && !rc; i++)
		rc = push(c, c->operands[i]);
	return rc;
}

int
cmd_debuginfo_list(struct cli *c)
{
	static const struct column columns[] = {
		{"NAME", "name", LEFT, MIDDLE},
		{"BUILD-ID", "buildId", LEFT, MIDDLE},
		{"STATE", "state", LEFT, PLAIN},
		{"BYTES", "bytes", RIGHT, PLAIN},
		{"USED", "lastUsedAt", LEFT, TIME},
		{"ID", "id", LEFT, ID},
	};

	return list_show(c, FILES, columns, ARRAY_LEN(columns));
}

int
cmd_debuginfo_delete(struct cli *c)
{
	int rc = LEAVE_OK;

	for (size_t i = 0; i < c->noperands && !rc; i++) {
		CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;

		buf_puts(&path, FILES "/");
		url_escape(&path, c->operands[i]);
		rc = ask(c, "DELETE", buf_str(&path), NULL, &r)
		             ?: print_done(c, c->operands[i], "deleted");
	}
	return rc;
}
