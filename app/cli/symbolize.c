/* stoker symbolize: looks up a profile's names again, for debug files that
 * were installed later, or a file's names before it is stored. */
#include "cli.h"

#include "files.h"
#include "import.h"
#include "named.h"
#include "profile/pprof.h"
#include "result.h"
#include "table.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MS 200 /* between two requests */
#define QUEUED_S 60  /* wait for a worker to begin */

static bool
is_in_state(const json_t *result, const char *name)
{
	const char *state = json_string_value(json_object_get(result, "state"));

	return state && !strcmp(state, name);
}

static int
follow(struct cli *c, const char *id, const char *path, json_t **result)
{
	int rc = LEAVE_OK, left = QUEUED_S * 1000 / PAUSE_MS;

	while (!rc && (is_in_state(*result, "queued") ||
	               is_in_state(*result, "running"))) {
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;

		if (is_in_state(*result, "queued") && !left--)
			return failed("%s: no worker has begun in %d s. The "
			              "request stays; stoker doctor says if a "
			              "worker runs",
			              id, QUEUED_S);
		poll(NULL, 0, PAUSE_MS);
		rc = ask(c, "GET", path, NULL, &r);
		if (rc)
			break;
		json_decref(*result);
		*result = TAKE(r.json);
	}
	return rc;
}

static int
show(const struct cli *c, const char *id, const json_t *result)
{
	const char *state = "", *error = "";
	json_int_t named = 0, frames = 0;

	if (c->opt.json)
		return print_json(result);
	(void)json_unpack((json_t *)result, "{s:s, s:s, s:{s:I, s:I}}", "state",
	                  &state, "error", &error, "quality", "framesNamed",
	                  &named, "frames", &frames);
	if (!strcmp(state, "failed"))
		return failed("%s: %s", id, error);
	printf("%lld of %lld frames have names\n", (long long)named,
	       (long long)frames);
	return LEAVE_OK;
}

/* Names the functions of a file, and writes it as pprof. */
static int
symbolize_file(struct cli *c)
{
	CLEANUP_BUF struct buf file = BUF_INIT(IMPORT_MAX_FILE);
	CLEANUP_PROFILE struct profile *p = NULL;
	const char *name = c->operands[0];
	int rc = read_named(name, &file)
	                 ?: import_local(c, name, &file, NULL, &p, NULL);

	if (rc)
		return rc;
	buf_clear(&file);
	rc = pprof_encode(p, &file);
	if (rc)
		return failed("%s: %s", name, strerror(-rc));
	return write_named(c->opt.output ? c->opt.output : "-", &file);
}

int
cmd_symbolize(struct cli *c)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *result = NULL;
	char id[ID_MAX];
	int rc;

	if (c->opt.binary.n)
		return symbolize_file(c);
	rc = profile_named(c, c->operands[0], "cpu", id);
	if (rc)
		return rc;
	profile_path(&path, id);
	buf_puts(&path, "/symbolize");
	rc = ask(c, "POST", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	result = TAKE(r.json);
	rc = follow(c, id, buf_str(&path), &result);
	return rc ? rc : show(c, id, result);
}
