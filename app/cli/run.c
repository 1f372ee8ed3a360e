/* stoker run: takes one profile now. */
#include "cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/proc_text.h"
#include "base/ways.h"
#include "held.h"
#include "interrupt.h"
#include "labels.h"
#include "named.h"
#include "patience.h"
#include "pid_file.h"
#include "profile/types.h"
#include "program.h"
#include "progress.h"
#include "result.h"
#include "service.h"
#include "session.h"
#include "store/session.h"
#include "survey.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* How long the server holds a request for the result: short, so that the
 * growing number of samples is shown. */
#define WAIT_S "1"
/* Pause between requests if the server cannot hold them. */
#define PAUSE_MS  500
#define LINE_MOST 78
#define ASKED_S   60 /* the API's default */

static int
make_body(const struct cli *c, json_t **out)
{
	CLEANUP_JSON json_t *body = NULL;
	const struct options *o = &c->opt;
	int rc;

	body = json_pack("{ss ss}", "service", c->operands[0], "profileType",
	                 type_asked(c));
	if (!body)
		return failed("an argument is not UTF-8");
	number_set(body, "durationSeconds", o->seconds);
	number_set(body, "sampleRate", o->rate);
	number_set(body, "ordinal", o->ordinal);
	if (o->host && json_object_set_new(body, "host", json_string(o->host)))
		return failed("an argument is not UTF-8");
	rc = labels_set(body, "labels", "label", &o->label);
	if (!rc)
		*out = TAKE(body);
	return rc;
}

/* --- started profiles ----------------------------------------------------- */

#define STARTED_MAX 64

/* Profiles begun by one start, one on each host. */
struct started {
	char id[STARTED_MAX][ID_MAX];
	size_t n;
};

static int
add_started(struct started *s, const json_t *of)
{
	char *id = s->id[s->n];

	if (s->n == STARTED_MAX)
		return failed("the server named too many profiles");
	snprintf(id, ID_MAX, "%s", json_member(of, "id"));
	if (!id_valid(SESSION_PREFIX, id))
		return failed("the server named no profile");
	s->n++;
	return LEAVE_OK;
}

/* A server of an earlier release has no list, and begins one profile. */
static int
read_started(const struct http_reply *r, struct started *out)
{
	const json_t *list = json_object_get(r->json, "started");
	int rc = LEAVE_OK;

	out->n = 0;
	for (size_t i = 0; i < json_array_size(list) && !rc; i++)
		rc = add_started(out, json_array_get(list, i));
	return rc || out->n ? rc : add_started(out, r->json);
}

/* --- progress ------------------------------------------------------------- */

struct run_watch {
	struct cli *cli;
	char id[ID_MAX];
	json_t *result;   /* the server's last reply */
	int64_t began_ns; /* when the capture began; 0 if not yet */
	char phase[32];   /* the last phase printed, if not on a terminal */
	size_t drawn;     /* columns of the line, on a terminal */
};

static void
watch_done(struct run_watch *w)
{
	json_decref(w->result);
}

/* Returns the columns of the progress line; 0 if lines are not redrawn. */
static size_t
line_width(const struct cli *c)
{
	struct screen s;

	screen_of(STDERR_FILENO, false, &s);
	if (c->opt.json || !isatty(STDERR_FILENO))
		return 0;
	return s.width && s.width <= LINE_MOST ? s.width - 1 : LINE_MOST;
}

static bool
is_running(const json_t *result)
{
	return !strcmp(json_member(result, "status"), "running");
}

static bool
has_begun(const json_t *result)
{
	return strcmp(json_member(result, "phase"), "queued") != 0;
}

static bool
is_capturing(const json_t *result)
{
	return is_running(result) && has_begun(result);
}

/* True once all samples are taken. */
static bool
is_captured(const json_t *result)
{
	return has_begun(result) &&
	       strcmp(json_member(result, "status"), "failed") != 0 &&
	       strcmp(json_member(result, "phase"), "capturing") != 0;
}

static double
seconds_asked(const struct cli *c)
{
	if (ways_at_once(type_asked(c)))
		return 0;
	return c->opt.seconds < 0 ? ASKED_S : (double)c->opt.seconds;
}

static void
warn_of_seconds(const struct cli *c)
{
	if (c->opt.seconds >= 0 && ways_at_once(type_asked(c)))
		fprintf(stderr,
		        "stoker: warning: --seconds does nothing here: a %s "
		        "profile is taken at once\n",
		        type_asked(c));
}

/* Estimates when the capture began. That was before the first reply that shows
 * it running, and at least as long ago as the server's progress implies. */
static void
note_begin(struct run_watch *w)
{
	double share =
		json_number_value(json_object_get(w->result, "progress"));
	int64_t began_ns =
		clock_mono_ns() -
		(int64_t)(share * seconds_asked(w->cli) * (double)NS_PER_S);

	if (is_capturing(w->result) && (!w->began_ns || began_ns < w->began_ns))
		w->began_ns = began_ns;
}

static struct progress
progress_of(struct run_watch *w)
{
	struct progress p = {
		.phase = json_member(w->result, "phase"),
		.seconds = -1,
		.of = seconds_asked(w->cli),
		.samples = json_integer_value(
			json_object_get(w->result, "sampleCount")),
	};

	if (w->began_ns)
		p.seconds = (double)(clock_mono_ns() - w->began_ns) / NS_PER_S;
	if (p.of > 0 && (p.seconds > p.of || is_captured(w->result)))
		p.seconds = p.of;
	return p;
}

static void
draw(struct run_watch *w, const char *line)
{
	fprintf(stderr, "\r%s", line);
	fflush(stderr);
	w->drawn = text_columns(line);
}

/* Redraws the progress line; if not on a terminal, prints a line for each new
 * phase. */
static void
show_progress(void *arg)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct run_watch *w = arg;
	size_t width = line_width(w->cli);
	struct progress p = progress_of(w);

	if (width) {
		progress_show(&out, &p, width);
		draw(w, buf_str(&out));
	} else if (!w->cli->opt.json && strncmp(w->phase, p.phase, 31)) {
		safe_puts(&out, p.phase);
		fprintf(stderr, "%s\n", buf_str(&out));
		snprintf(w->phase, sizeof(w->phase), "%s", p.phase);
	}
}

/* Shows the final state of the line, then erases it. */
static void
clear_progress(struct run_watch *w)
{
	if (w->drawn)
		show_progress(w);
	if (w->drawn)
		fprintf(stderr, "\r%*s\r", (int)w->drawn, "");
	w->drawn = 0;
}

/* --- waiting -------------------------------------------------------------- */

/* Pauses, while the progress line keeps moving. */
static void
pause_ms(struct run_watch *w, int ms)
{
	for (; ms > 0 && !interrupted; ms -= HTTP_TICK_MS) {
		poll(NULL, 0, HTTP_TICK_MS);
		show_progress(w);
	}
}

/* Sends a request whose reply is the profile's current state. */
static int
take_result(struct run_watch *w, const char *method, const char *rest)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	profile_path(&path, w->id);
	buf_puts(&path, rest);
	rc = ask(w->cli, method, buf_str(&path), NULL, &r);
	if (rc)
		return rc;
	json_decref(w->result);
	w->result = TAKE(r.json);
	return LEAVE_OK;
}

/* Sends one request for the result. */
static int
ask_result(struct run_watch *w)
{
	int64_t start = clock_mono_ns();
	int rc = take_result(w, "GET", "?wait=" WAIT_S);

	if (rc)
		return rc;
	note_begin(w);
	if (is_running(w->result) &&
	    clock_mono_ns() - start < PAUSE_MS * NS_PER_MS)
		pause_ms(w, PAUSE_MS);
	return LEAVE_OK;
}

static int
cancel(struct run_watch *w)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	w->cli->http.stop = NULL;
	profile_path(&path, w->id);
	rc = ask(w->cli, "DELETE", buf_str(&path), NULL, &r);
	if (rc)
		return LEAVE_INTERRUPTED;
	fprintf(stderr, "stoker: cancelled %s\n", w->id);
	if (is_capturing(w->result))
		fprintf(stderr, "  stoker top %s shows what was sampled\n",
		        w->id);
	return LEAVE_INTERRUPTED;
}

static int
follow(struct run_watch *w)
{
	struct http *http = &w->cli->http;
	int rc = LEAVE_OK;

	http->tick = show_progress;
	http->tick_arg = w;
	while (!rc && is_running(w->result) && !interrupted) {
		show_progress(w);
		rc = ask_result(w);
	}
	http->tick = NULL;
	clear_progress(w);
	return interrupted && is_running(w->result) ? cancel(w) : rc;
}

/* --- result --------------------------------------------------------------- */

static int
show_failure(const json_t *result)
{
	const json_t *e = json_object_get(result, "error");
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const char *message = json_member(e, "message");

	safe_puts(&out, *message ? message : "the profile failed");
	if (*json_member(e, "error_code")) {
		buf_puts(&out, " (");
		safe_puts(&out, json_member(e, "error_code"));
		buf_putc(&out, ')');
	}
	return failed("%s", buf_str(&out));
}

static int
show_links(const json_t *result)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&out, "\nprofile: ");
	safe_puts(&out, json_member(result, "id"));
	buf_putc(&out, '\n');
	link_show(&out, "flame graph", json_member(result, "flameGraphUrl"));
	return print(&out);
}

static int
show_functions(struct cli *c, json_t *result)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	int rc;

	reasons_show(&out, result, &c->screen);
	rc = session_top(c, result, &out);
	quality_show(&out, result);
	return rc ? rc : print(&out);
}

static int
show_result(struct cli *c, json_t *result)
{
	bool done = !strcmp(json_member(result, "status"), "completed");
	int rc;

	if (c->opt.json) {
		rc = print_json(result);
		return rc || done ? rc : LEAVE_FAILED;
	}
	if (!done)
		return show_failure(result);
	rc = strcmp(type_asked(c), "goroutine")
	             ? show_functions(c, result)
	             : session_analysis_show(c, result);
	return rc ? rc : show_links(result);
}

/* Without --wait: prints what was started, and how to see the result. */
static int
show_start(const struct cli *c, const json_t *result, const struct started *s)
{
	if (c->opt.json)
		return print_json(result);
	for (size_t i = 0; i < s->n; i++)
		printf("%s\n", s->id[i]);
	fprintf(stderr, "stoker: started; stoker top %s shows the result\n",
	        s->id[0]);
	return LEAVE_OK;
}

static int
run(struct cli *c, const json_t *body)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	struct patience p = patience_of(c, c->operands[0], true);
	struct started s;
	int rc = patience_start(c, &p, body, &r);

	if (!rc)
		rc = read_started(&r, &s);
	return rc ? rc : show_start(c, r.json, &s);
}

/* Waits for one of several profiles, and shows it below the name of its host.
 * An interrupt cancels it and the profiles that follow. */
static int
wait_for_one(struct cli *c, const char *id)
{
	CLEANUP(watch_done) struct run_watch w = {.cli = c};
	CLEANUP_BUF struct buf host = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	snprintf(w.id, sizeof(w.id), "%s", id);
	if (interrupted)
		return cancel(&w);
	c->http.stop = &interrupted;
	rc = ask_result(&w);
	if (!rc)
		rc = follow(&w);
	if (rc || c->opt.json)
		return rc ? rc : show_result(c, w.result);
	safe_puts(&host, json_member(w.result, "host"));
	printf("%s:\n", buf_str(&host));
	return show_result(c, w.result);
}

static int
wait_for_all(struct cli *c, const struct started *s)
{
	int rc = LEAVE_OK;

	for (size_t i = 0; i < s->n; i++) {
		int one = wait_for_one(c, s->id[i]);

		rc = rc ? rc : one;
	}
	return rc;
}

static int
run_and_wait(struct cli *c, const json_t *body)
{
	struct patience p = patience_of(c, c->operands[0], true);
	struct started s;
	int rc;

	interrupt_catch();
	for (;;) {
		CLEANUP_REPLY struct http_reply r = REPLY_INIT;
		CLEANUP(watch_done) struct run_watch w = {.cli = c};

		c->http.stop = NULL;
		rc = patience_start(c, &p, body, &r);
		if (!rc)
			rc = read_started(&r, &s);
		if (rc)
			return rc;
		if (s.n > 1)
			return wait_for_all(c, &s);
		snprintf(w.id, sizeof(w.id), "%s", s.id[0]);
		w.result = TAKE(r.json);
		c->http.stop = &interrupted;
		rc = follow(&w);
		if (rc || !patience_again(c, &p, w.result))
			return rc ? rc : show_result(c, w.result);
	}
}

/* --- a command ------------------------------------------------------------ */

#define HOLD_S    30 /* the default of --wait-for-process */
#define HOLD_MS   100
#define COMMAND_S 3600 /* default of --seconds: the API's maximum */
#define BOOT_FILE "/proc/sys/kernel/random/boot_id"

/* A program that is held until its capture counts. */
struct held_run {
	struct cli *cli;
	const char *const *words; /* NULL ends them */
	char service[SERVICE_NAME_MAX];
	const char *operand; /* the service, as operand of the command */
	struct buf pid_file; /* its path */
	bool absent;         /* there is no such service yet */
	int pid_fd;
	struct held held;
	char boot_id[64];
	uint64_t start_time;
	int64_t end_ns;    /* end of the time that it may be held */
	char host[256];    /* where a worker saw it */
	char refused[256]; /* where the match is out of the tenant's scope */
};

static void
command_done(struct held_run *m)
{
	held_done(&m->held);
	pid_file_close(&m->pid_fd);
	buf_done(&m->pid_file);
}

/* Adds the service if there is none. */
static int
add_service(struct held_run *m)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *body = NULL;
	int rc;

	if (!m->absent)
		return LEAVE_OK;
	body = json_pack("{ss s{ss}}", "name", m->service, "match", "pidFile",
	                 buf_str(&m->pid_file));
	if (!body)
		return failed("the name of a service is UTF-8");
	rc = ask(m->cli, "POST", "/api/v1/services", body, &r);
	if (!rc)
		fprintf(stderr, "stoker: added the service %s\n", m->service);
	else if (r.status == 403)
		fprintf(stderr,
		        "there is no service %s yet; an administrator adds "
		        "it:\n  stoker service add %s --pid-file %s\n",
		        m->service, m->service, buf_str(&m->pid_file));
	return rc;
}

/* Finds the pid file of the service, or of a service to be added. */
static int
find_pid_file(struct held_run *m)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const char *pid_file;
	int rc;

	service_path(&path, m->service);
	rc = ask_maybe(m->cli, "GET", buf_str(&path), NULL, &r);
	m->absent = r.status == 404;
	if (rc || m->absent)
		return rc ? rc : pid_file_path(m->service, &m->pid_file);
	pid_file = json_member(json_object_get(r.json, "match"), "pidFile");
	buf_puts(&m->pid_file, pid_file);
	return *pid_file ? LEAVE_OK
	                 : failed("the service %s is not selected by a pid "
	                          "file: give the command a service of its "
	                          "own\n  stoker run NAME --command -- %s",
	                          m->service, m->words[0]);
}

/* Reads the start time, which distinguishes the process from a later one with
 * its pid. */
static int
identify(struct held_run *m)
{
	CLEANUP_BUF struct buf boot = BUF_INIT(sizeof(m->boot_id) - 1);
	CLEANUP_BUF struct buf stat = BUF_INIT(BUF_MAX_SMALL);
	char path[64], name[PROC_COMM_MAX];
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/stat", m->held.pid);
	rc = file_read(AT_FDCWD, BOOT_FILE, &boot)
	             ?: file_read(AT_FDCWD, path, &stat)
	             ?: proc_parse_stat(buf_str(&stat), name, &m->start_time);
	if (rc)
		return failed("%s: %s", path, strerror(-rc));
	snprintf(m->boot_id, sizeof(m->boot_id), "%.*s",
	         (int)strcspn(buf_str(&boot), "\n"), buf_str(&boot));
	return LEAVE_OK;
}

static bool
is_held(const struct held_run *m, const json_t *process)
{
	return !strcmp(json_member(process, "bootId"), m->boot_id) &&
	       json_integer_value(json_object_get(process, "pid")) ==
	               m->held.pid &&
	       json_integer_value(json_object_get(process, "startTime")) ==
	               (json_int_t)m->start_time;
}

/* Looks for the program among the processes of the service; sets m->host if a
 * worker has seen it. */
static int
ask_seen(struct held_run *m)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const json_t *item;
	size_t i;
	int rc;

	service_path(&path, m->service);
	buf_puts(&path, "/processes?look=true");
	rc = ask(m->cli, "GET", buf_str(&path), NULL, &r);
	json_array_foreach(json_object_get(r.json, "items"), i, item)
		if (is_held(m, item))
			snprintf(m->host, sizeof(m->host), "%s",
			         json_member(item, "host"));
	json_array_foreach(json_object_get(r.json, "captured"), i, item)
		if (json_integer_value(
			    json_object_get(item, "matchesOutOfScope")) > 0)
			snprintf(m->refused, sizeof(m->refused), "%s",
			         json_member(item, "host"));
	return rc;
}

static int
not_seen(const struct held_run *m)
{
	CLEANUP_BUF struct buf host = BUF_INIT(BUF_MAX_SMALL);

	failed("%s was not run: no worker on this host saw it within %d s\n"
	       "  stoker hosts lists the hosts that have one; one outside of "
	       "this container sees\n  other pids. stoker record needs no "
	       "server.",
	       m->words[0],
	       (int)(m->cli->opt.wait_for_process < 0
	                     ? HOLD_S
	                     : m->cli->opt.wait_for_process));
	safe_puts(&host, m->refused);
	if (host.len)
		fprintf(stderr,
		        "  On %s, a process of %s is outside of what the "
		        "tenant may profile:\n  see [scope.TENANT] of "
		        "stoker.conf there.\n",
		        buf_str(&host), m->service);
	return LEAVE_FAILED;
}

static int
gone(const struct held_run *m)
{
	failed("%s was not run", m->words[0]);
	return LEAVE_INTERRUPTED;
}

/* Waits until a worker has seen the program. */
static int
wait_seen(struct held_run *m)
{
	int rc = ask_seen(m);

	while (!rc && !*m->host && clock_mono_ns() < m->end_ns &&
	       !interrupted) {
		poll(NULL, 0, HOLD_MS);
		rc = ask_seen(m);
	}
	if (interrupted)
		return gone(m);
	return rc || *m->host ? rc : not_seen(m);
}

/* Adds the service if there is none, and waits until a worker has seen its
 * program. Removes what it added if none has. */
static int
see(struct held_run *m)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc = add_service(m), seen;

	if (rc)
		return rc;
	seen = wait_seen(m);
	service_path(&path, m->service);
	if (seen && m->absent &&
	    !ask(m->cli, "DELETE", buf_str(&path), NULL, &r))
		fprintf(stderr, "stoker: removed the service %s\n", m->service);
	return seen;
}

/* Waits until the capture counts, so that the program can be resumed. */
static int
wait_counted(const struct held_run *m, struct run_watch *w)
{
	int rc = LEAVE_OK;

	while (!rc && is_running(w->result) && !interrupted &&
	       clock_mono_ns() < m->end_ns &&
	       json_number_value(json_object_get(w->result, "progress")) <= 0) {
		poll(NULL, 0, HOLD_MS);
		rc = take_result(w, "GET", "");
	}
	if (rc)
		return rc;
	if (!strcmp(json_member(w->result, "status"), "completed"))
		return failed("%s was not run: its capture ended before the "
		              "server reported that it had begun; give more "
		              "--seconds",
		              m->words[0]);
	if (!is_running(w->result)) {
		rc = show_failure(w->result);
		fprintf(stderr, "%s was not run\n", m->words[0]);
		return rc;
	}
	if (json_number_value(json_object_get(w->result, "progress")) > 0)
		return LEAVE_OK;
	rc = cancel(w);
	if (interrupted)
		return rc;
	return failed("%s was not run: its capture has not begun; the worker "
	              "may be busy with others",
	              m->words[0]);
}

/* Ends a capture of an earlier command, and waits for that. */
static int
end_earlier(const struct held_run *m, const json_t *session)
{
	CLEANUP(watch_done) struct run_watch w = {.cli = m->cli};
	int rc;

	snprintf(w.id, sizeof(w.id), "%s", json_member(session, "id"));
	if (!id_valid(SESSION_PREFIX, w.id))
		return failed("the server named no profile");
	fprintf(stderr, "stoker: %s is of an earlier command; it ends now\n",
	        w.id);
	rc = take_result(&w, "POST", "/complete");
	while (!rc && is_running(w.result) && !interrupted &&
	       clock_mono_ns() < m->end_ns) {
		poll(NULL, 0, HOLD_MS);
		rc = take_result(&w, "GET", "");
	}
	return rc;
}

/* Ends captures of the service that run here. Nothing waits for their commands
 * any more, since this program has the lock of the pid file. */
static int
end_all_earlier(const struct held_run *m)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	const json_t *session;
	size_t i;
	int rc;

	buf_puts(&path, PROFILING "/sessions?status=running&top=0");
	query_add(&path, "service", m->service);
	query_add(&path, "profileType", type_asked(m->cli));
	rc = ask(m->cli, "GET", buf_str(&path), NULL, &r);
	json_array_foreach(json_object_get(r.json, "items"), i, session)
		if (!rc && !strcmp(json_member(session, "host"), m->host))
			rc = end_earlier(m, session);
	return rc;
}

static int
start_capture(struct held_run *m, struct run_watch *w)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *body = NULL;
	struct options *o = &m->cli->opt;
	struct started s;
	int rc;

	m->operand = m->service;
	m->cli->operands = &m->operand;
	o->host = m->host;
	if (o->seconds < 0)
		o->seconds = COMMAND_S;
	rc = end_all_earlier(m)
	             ?: make_body(m->cli, &body)
	             ?: ask(m->cli, "POST", PROFILES "/start", body, &r);
	if (!rc)
		rc = read_started(&r, &s);
	if (rc)
		return rc;
	memcpy(w->id, s.id[0], sizeof(w->id));
	w->result = TAKE(r.json);
	return wait_counted(m, w);
}

/* Ends the capture, and shows its result. */
static int
end_capture(struct held_run *m, struct run_watch *w)
{
	struct cli *c = m->cli;
	int rc;

	interrupt_catch();
	rc = take_result(w, "POST", "/complete");
	if (!rc && !strcmp(json_member(w->result, "status"), "completed"))
		fprintf(stderr,
		        "stoker: warning: the capture ended before %s did: "
		        "--seconds is %" PRId64 "\n",
		        m->words[0], c->opt.seconds);
	note_begin(w);
	if (!rc)
		rc = follow(w);
	if (rc)
		return rc;
	if (c->opt.wait || c->opt.json ||
	    strcmp(json_member(w->result, "status"), "completed") != 0)
		return show_result(c, w->result);
	fprintf(stderr,
	        "stoker: %s is the profile of %s\n  stoker top %s shows it\n",
	        w->id, m->words[0], w->id);
	return LEAVE_OK;
}

static int
profile_command(struct held_run *m)
{
	CLEANUP(watch_done) struct run_watch w = {.cli = m->cli};
	int rc;

	interrupt_catch();
	rc = find_pid_file(m) ?: pid_file_open(buf_str(&m->pid_file), &m->pid_fd)
	             ?: held_start(m->words, m->pid_fd, &m->held)
	             ?: identify(m)
	             ?: see(m)
	             ?: service_allow_more(m->cli, m->service)
	             ?: start_capture(m, &w);
	if (rc)
		return rc;
	held_let_go(&m->held);
	held_wait(&m->held);
	rc = end_capture(m, &w);
	return held_status(&m->held) ?: rc;
}

/* Checks the command line of --command, and fills in its words. */
static int
read_command(struct cli *c, struct held_run *m)
{
	size_t before = c->opt.nbefore + c->noperands - c->opt.noperands;
	CLEANUP_JSON json_t *match = NULL;
	int rc = match_of(&c->opt, &match);

	if (rc)
		return rc;
	if (before == c->noperands || before > 1)
		return usage_error("--command profiles the command after --\n  "
		                   "stoker run [SERVICE] --command -- COMMAND "
		                   "[ARGUMENT...]");
	if (json_object_size(match) || c->opt.pid >= 0 || c->opt.host ||
	    c->opt.all || c->opt.ordinal >= 0)
		return usage_error("--command chooses the process and the "
		                   "host: give only the name of a service");
	if (ways_at_once(type_asked(c)))
		return usage_error("a %s profile is taken at once, before the "
		                   "command has done anything",
		                   type_asked(c));
	m->words = c->operands + before;
	program_name(before ? c->operands[0] : m->words[0], m->service);
	if (before && strcmp(m->service, c->operands[0]) != 0)
		return usage_error("'%s' is not a name of a service",
		                   c->operands[0]);
	return *m->service ? LEAVE_OK
	                   : usage_error("no service can be named after %s: "
	                                 "name one",
	                                 m->words[0]);
}

static int
run_command(struct cli *c)
{
	CLEANUP(command_done)
	struct held_run m = {.cli = c,
	                     .pid_file = BUF_INIT(BUF_MAX_SMALL),
	                     .pid_fd = -1,
	                     .held = HELD_INIT};
	int64_t s = c->opt.wait_for_process;
	int rc = read_command(c, &m);

	m.end_ns = clock_mono_ns() + (s < 0 ? HOLD_S : s) * NS_PER_S;
	return rc ? rc : profile_command(&m);
}

/* --- the service ---------------------------------------------------------- */

#define DEPTH_MAX 64 /* levels of parent processes */

static json_t *
listed(const json_t *hosts, int64_t pid)
{
	const json_t *host, *process;
	size_t i, k;

	json_array_foreach(hosts, i, host)
		json_array_foreach(survey_processes(host), k, process)
			if (json_integer_value(
				    json_object_get(process, "pid")) == pid)
				return (json_t *)process;
	return NULL;
}

/* Returns the parent of a process of this host, or 0, and its name. */
static int64_t
parent_of(int64_t pid, char comm[static PROC_COMM_MAX])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[48];
	const char *end;
	int64_t parent;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	if (file_read(AT_FDCWD, path, &text) ||
	    !proc_parse_comm(buf_str(&text), comm))
		return 0;
	end = strrchr(buf_str(&text), ')');
	return end && sscanf(end, ") %*c %" SCNd64, &parent) == 1 ? parent : 0;
}

/* Finds the process of --pid on one host. Of a server and its workers, which
 * are the same program, surveys list only the first; on this host, that one is
 * found for a worker. */
static int
find_process(struct cli *c, json_t **out)
{
	CLEANUP_JSON json_t *hosts = NULL;
	char comm[PROC_COMM_MAX], parents[PROC_COMM_MAX];
	int64_t pid = c->opt.pid, next;
	json_t *process;
	int rc = survey_fetch(c, NULL, &hosts);

	if (rc)
		return rc;
	process = listed(hosts, pid);
	next = process ? 0 : parent_of(pid, comm);
	for (int i = 0; next && !process && i < DEPTH_MAX; i++) {
		pid = next;
		next = parent_of(pid, parents);
		if (strcmp(comm, parents) != 0)
			break;
		process = listed(hosts, pid);
	}
	if (process) {
		*out = json_incref(process);
		return LEAVE_OK;
	}
	if (!survey_answered(hosts))
		return failed(NO_WORKER);
	return failed("no process %" PRId64
	              " may be profiled\n  stoker ps lists those that may",
	              c->opt.pid);
}

/* Sets the match of the process of --pid, and appends a title for it. */
static int
match_of_process(struct cli *c, json_t *match, struct buf *title)
{
	CLEANUP_JSON json_t *process = NULL;
	CLEANUP_JSON json_t *of = NULL;
	int rc = find_process(c, &process);

	if (rc)
		return rc;
	program_title(process, title);
	of = program_match(process);
	return of && !json_object_update(match, of)
	               ? LEAVE_OK
	               : failed("the program of process %" PRId64
	                        " is not known",
	                        c->opt.pid);
}

/* Finds the service that the options describe, or adds it. Sets name to "" if
 * the command names a service. */
static int
find_service(struct cli *c, char name[static SERVICE_NAME_MAX])
{
	CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *match = NULL;
	int rc = match_of(&c->opt, &match);

	*name = '\0';
	if (rc)
		return rc;
	if (c->noperands + json_object_size(match) + (c->opt.pid >= 0) != 1)
		return usage_error("name a service, or give one of --unit, "
		                   "--container, --exe, --pid and --all, or "
		                   "--command\n  stoker ps lists what runs");
	if (c->noperands)
		return LEAVE_OK;
	if (c->opt.pid >= 0)
		rc = match_of_process(c, match, &title);
	else if (c->opt.all)
		buf_puts(&title, SERVICE_OF_ALL);
	else
		match_title(match, &title);
	return rc ? rc : service_for(c, match, buf_str(&title), name);
}

int
cmd_run(struct cli *c)
{
	CLEANUP_JSON json_t *body = NULL;
	char name[SERVICE_NAME_MAX];
	const char *operands[] = {name};
	int rc;

	if (c->opt.command)
		return run_command(c);
	rc = find_service(c, name);
	if (rc)
		return rc;
	if (!c->noperands) {
		c->operands = operands;
		c->noperands = 1;
	}
	rc = service_allow_more(c, c->operands[0]) ?: make_body(c, &body);
	if (rc)
		return rc;
	warn_of_seconds(c);
	return c->opt.wait ? run_and_wait(c, body) : run(c, body);
}
