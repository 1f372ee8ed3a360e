#include "live.h"

#include "base/id.h"
#include "interrupt.h"
#include "patience.h"
#include "result.h"
#include "service.h"
#include "store/session.h"
#include "table.h"
#include "text.h"
#include "top.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 3  /* of each profile */
#define ROWS    10 /* functions, so that all fits into 24 lines */
#define WAIT_S  5  /* wait for a result in one request */
#define CLEAR   "\033[H\033[2J"

/* Starts a profile. */
static int
start(struct cli *c, const char *service, char id[static ID_MAX])
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *body = json_pack(
		"{ss ss sI}", "service", service, "profileType", "cpu",
		"durationSeconds",
		(json_int_t)(c->opt.seconds < 0 ? SECONDS : c->opt.seconds));
	struct patience p = patience_of(c, service, false);
	int rc;

	if (c->opt.host)
		json_object_set_new(body, "host", json_text(c->opt.host));
	rc = patience_start(c, &p, body, &r);
	if (rc)
		return rc;
	snprintf(id, ID_MAX, "%s", json_member(r.json, "id"));
	return id_valid(SESSION_PREFIX, id)
	               ? LEAVE_OK
	               : failed("the server named no profile");
}

/* Waits until a profile has ended. */
static int
await(struct cli *c, const char *id, json_t **out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	profile_path(&path, id);
	buf_addf(&path, "?wait=%d", WAIT_S);
	while (!interrupted) {
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;
		int rc = ask(c, "GET", buf_str(&path), NULL, &r);

		if (rc)
			return rc;
		if (!strcmp(json_member(r.json, "status"), "running"))
			continue;
		*out = TAKE(r.json);
		return LEAVE_OK;
	}
	return LEAVE_INTERRUPTED;
}

static int
show(struct cli *c, const json_t *result)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const json_t *error = json_object_get(result, "error");
	int rc = LEAVE_OK;

	if (!strcmp(json_member(result, "status"), "failed"))
		return failed("%s", json_member(error, "message"));
	if (isatty(STDOUT_FILENO))
		buf_puts(&out, CLEAR);
	buf_puts(&out, "CPU time of ");
	safe_puts(&out, json_member(result, "host"));
	buf_addf(&out, " in %.0f s from ",
	         json_number_value(json_object_get(result, "durationSeconds")));
	screen_time(&c->screen, json_member(result, "startedAt"), &out);
	buf_puts(&out, "\n\n");
	rc = session_top(c, result, &out);
	return rc ? rc : print(&out);
}

/* Removes a profile, or cancels it. */
static void
discard(struct cli *c, const char *id)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	profile_path(&path, id);
	c->http.stop = NULL;
	if (ask(c, "DELETE", buf_str(&path), NULL, &r))
		fprintf(stderr, "stoker: %s is left\n", id);
	c->http.stop = &interrupted;
}

static int
show_one(struct cli *c, const char *service)
{
	CLEANUP_JSON json_t *result = NULL;
	char id[ID_MAX];
	int rc = start(c, service, id);

	if (rc)
		return rc;
	rc = await(c, id, &result);
	if (!rc)
		rc = c->opt.json ? print_json(result) : show(c, result);
	discard(c, id);
	return rc;
}

int
live_top(struct cli *c)
{
	CLEANUP_JSON json_t *match = NULL;
	char service[SERVICE_NAME_MAX];
	int rc;

	c->opt.all = true;
	rc = match_of(&c->opt, &match);
	if (!rc)
		rc = service_for(c, match, SERVICE_OF_ALL, service);
	if (rc)
		return rc;
	if (c->opt.limit < 0)
		c->opt.limit = ROWS;
	interrupt_catch();
	c->http.stop = &interrupted;
	do
		rc = show_one(c, service);
	while (!rc && isatty(STDOUT_FILENO) && !c->opt.json && !interrupted);
	return interrupted ? LEAVE_OK : rc;
}
