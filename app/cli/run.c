/* stoker run: one profile, now. */
#include "cli.h"

#include "base/clock.h"
#include "base/id.h"
#include "labels.h"
#include "profile.h"
#include "table.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The server holds each question this long, so that a bar moves. */
#define WAIT_S 1
/* A server that can't hold it is asked again this much later. */
#define PAUSE_MS  500
#define BAR_WIDTH 78

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Once: a second Ctrl-C ends the program as usual. */
static void
catch_interrupts(void)
{
	struct sigaction sa = {
		.sa_handler = on_interrupt,
		.sa_flags = (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static int
make_body(const struct cli *c, json_t **out)
{
	CLEANUP_JSON json_t *body = NULL;
	const struct options *o = &c->opt;
	int rc;

	body = json_pack("{ss ss}", "service", c->operands[0], "profileType",
	                 o->type ? o->type : "cpu");
	if (!body)
		return failed("an argument is not UTF-8");
	number_set(body, "durationSeconds", o->seconds);
	number_set(body, "sampleRate", o->rate);
	number_set(body, "ordinal", o->ordinal);
	rc = labels_set(body, &o->label);
	if (!rc)
		*out = TAKE(body);
	return rc;
}

static const char *
text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

/* Redraws the bar, or says a new phase on a line of its own. */
static void
show_progress(const struct cli *c, const json_t *result, char phase[static 32])
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	double done = json_number_value(json_object_get(result, "progress"));
	CLEANUP_BUF struct buf now = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&now, text_of(result, "phase"));
	if (c->opt.json)
		return;
	if (isatty(STDERR_FILENO)) {
		buf_putc(&out, '\r');
		bar_show(&out, buf_str(&now), done, BAR_WIDTH);
	} else if (strncmp(phase, buf_str(&now), 31)) {
		buf_addf(&out, "%s\n", buf_str(&now));
		snprintf(phase, 32, "%s", buf_str(&now));
	}
	fputs(buf_str(&out), stderr);
}

static void
end_progress(const struct cli *c)
{
	if (!c->opt.json && isatty(STDERR_FILENO))
		fputc('\n', stderr);
}

static bool
running(const json_t *result)
{
	return !strcmp(text_of(result, "status"), "running");
}

/* One question for the result; LEAVE_OK with the answer in *result. */
static int
ask_result(struct cli *c, const char *id, json_t **result)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int64_t start = clock_mono_ns();
	int rc;

	profile_path(&path, id);
	buf_addf(&path, "?wait=%d", WAIT_S);
	rc = ask(c, "GET", buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	json_decref(*result);
	*result = TAKE(r.json);
	if (running(*result) && !interrupted &&
	    clock_mono_ns() - start < PAUSE_MS * NS_PER_MS)
		poll(NULL, 0, PAUSE_MS);
	return LEAVE_OK;
}

static int
cancel(struct cli *c, const char *id)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	c->http.stop = NULL;
	profile_path(&path, id);
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	if (!rc)
		fprintf(stderr, "stoker: cancelled %s\n", id);
	return LEAVE_INTERRUPTED;
}

static int
follow(struct cli *c, const char *id, json_t **result)
{
	char phase[32] = "";
	int rc = LEAVE_OK;

	show_progress(c, *result, phase);
	while (!rc && running(*result) && !interrupted) {
		rc = ask_result(c, id, result);
		show_progress(c, *result, phase);
	}
	end_progress(c);
	return interrupted && running(*result) ? cancel(c, id) : rc;
}

static int
show_failure(const json_t *result)
{
	const json_t *e = json_object_get(result, "error");
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&out, *text_of(e, "message") ? text_of(e, "message")
	                                       : "the profile failed");
	if (*text_of(e, "error_code")) {
		buf_puts(&out, " (");
		safe_puts(&out, text_of(e, "error_code"));
		buf_putc(&out, ')');
	}
	return failed("%s", buf_str(&out));
}

static int
show_result(const struct cli *c, const json_t *result)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	bool done = !strcmp(text_of(result, "status"), "completed");
	int rc;

	if (c->opt.json) {
		rc = print_json(result);
		return rc || done ? rc : LEAVE_FAILED;
	}
	if (!done)
		return show_failure(result);
	reasons_show(&out, result);
	top_show(&out, result, c->opt.limit, screen_width(STDOUT_FILENO));
	quality_show(&out, result);
	buf_puts(&out, "\nprofile:     ");
	safe_puts(&out, text_of(result, "id"));
	buf_puts(&out, "\nflame graph: ");
	safe_puts(&out, text_of(result, "flameGraphUrl"));
	buf_putc(&out, '\n');
	return print(&out);
}

/* Without --wait: what was started, and how to go on. */
static int
show_start(const struct cli *c, const json_t *result, const char *id)
{
	if (c->opt.json)
		return print_json(result);
	printf("%s\n", id);
	fprintf(stderr, "stoker: started; stoker top %s shows the result\n",
	        id);
	return LEAVE_OK;
}

int
cmd_run(struct cli *c)
{
	CLEANUP_JSON json_t *body = NULL;
	CLEANUP_JSON json_t *result = NULL;
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	char id[ID_MAX];
	int rc = make_body(c, &body);

	if (rc)
		return rc;
	if (c->opt.wait)
		catch_interrupts();
	rc = ask(c, "POST", PROFILES "/start", body, &r);
	if (rc)
		return rc;
	snprintf(id, sizeof(id), "%s", text_of(r.json, "id"));
	if (!id_valid("sess-", id))
		return failed("the server named no profile");
	if (!c->opt.wait)
		return show_start(c, r.json, id);
	result = TAKE(r.json);
	c->http.stop = &interrupted;
	rc = follow(c, id, &result);
	return rc ? rc : show_result(c, result);
}
