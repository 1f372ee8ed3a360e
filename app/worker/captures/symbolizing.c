#include "symbolizing.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "runs_private.h"
#include "store/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_NS (NS_PER_S / 2)

void
symbolizing_forget(struct symbolizing *y)
{
	if (y->events &&
	    worker_may_look(*y->events, y->asked.session, NULL, NULL, 0))
		log_debug("%s: the opener takes no messages", y->asked.session);
	y->events = NULL;
	pushed_close(&y->pushed);
	symbolize_done(&y->asked);
	blob_close(&y->profile);
}

static void
wait_done(struct symbolizing_wait *w)
{
	free(w->tenant);
	*w = (struct symbolizing_wait){.tenant = NULL};
}

void
symbolizing_done(struct symbolizing *y)
{
	if (y->asked.session)
		symbolizing_forget(y);
	for (size_t i = 0; i < ARRAY_LEN(y->waiting); i++)
		wait_done(&y->waiting[i]);
}

static bool
is_upload(const struct symbolizing *y)
{
	return !strcmp(y->asked.origin, SESSION_UPLOAD);
}

static void
fail(struct symbolizing *y, struct store *s, const char *why)
{
	int rc = symbolize_fail(s, &y->asked, why);

	log_warn("%s: not symbolized: %s", y->asked.session, why);
	if (rc && rc != -ESTALE)
		log_err("%s: not stored: %s", y->asked.session, strerror(-rc));
	symbolizing_forget(y);
}

/* --- to the analyser ------------------------------------------------------ */

/* Lists the processes of the upload's service, and lets the analyser read
 * them. */
static int
add_processes(struct runs *c, const struct targets *targets,
              struct msg_symbolize *m)
{
	struct symbolizing *y = &c->symbolizing;
	struct followed now;
	int rc;

	targets_followed(targets, y->asked.tenant, y->asked.service,
	                 SESSION_ALL_ORDINALS, &now);
	rc = worker_may_look(c->events, m->id, now.pids, now.starts, now.n);
	if (rc)
		return rc;
	y->events = &c->events;
	m->npids = now.n;
	memcpy(m->pids, now.pids, now.n * sizeof(*now.pids));
	return 0;
}

static int
open_pushed(struct symbolizing *y, struct store *s)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	int rc =
		debug_file_of_session(s, y->asked.tenant, y->asked.session, &l);

	if (!rc)
		pushed_open(&y->pushed, s, &l, PUSHED_COPIED);
	return rc;
}

static int
send_ask(struct runs *c, const struct targets *targets, int old)
{
	struct symbolizing *y = &c->symbolizing;
	struct msg_symbolize m = {.type = MSG_SYMBOLIZE,
	                          .uploaded = is_upload(y)};
	int fds[] = {y->profile.fd, old};
	int rc = 0;

	snprintf(m.id, sizeof(m.id), "%s", y->asked.session);
	if (m.uploaded)
		rc = add_processes(c, targets, &m);
	rc = rc ?: open_pushed(y, c->store);
	return rc ?: pushed_send(&y->pushed, c->analyser, &m, fds);
}

static int
start(struct runs *c, const struct targets *targets)
{
	struct symbolizing *y = &c->symbolizing;
	CLEANUP_FD int old = -1;
	struct blob blob;
	int rc = blob_of_session(c->store, y->asked.session, BLOB_PPROF, &blob);

	if (!rc)
		rc = blob_open(c->store, &blob, &old);
	if (!rc)
		rc = blob_create(c->store, BLOB_PPROF, &y->profile);
	return rc ? rc : send_ask(c, targets, old);
}

int
symbolizing_step(struct runs *c, const struct targets *targets,
                 const char *host, int64_t now_ns)
{
	struct symbolizing *y = &c->symbolizing;
	int rc;

	if (y->asked.session && now_ns > y->deadline_ns)
		fail(y, c->store, capture_error_text(CAPTURE_LATE));
	if (y->asked.session || c->analyser < 0 || now_ns < y->next_ns)
		return 0;
	rc = symbolize_claim(c->store, host, &y->asked);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	y->profile = (struct blob_writer)BLOB_WRITER_INIT;
	y->deadline_ns = now_ns + c->finish_ns + OVERDUE_NS;
	rc = start(c, targets);
	if (rc)
		fail(y, c->store,
		     rc == -ENOENT ? "the profile's data is no longer stored"
		                   : capture_error_text(CAPTURE_INTERNAL));
	return 0;
}

/* --- debug files that are fetched ----------------------------------------- */

/* Remembers an upload that debug files may help. */
static void
await_files(struct symbolizing *y)
{
	int64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < ARRAY_LEN(y->waiting); i++) {
		struct symbolizing_wait *w = &y->waiting[i];

		if (w->tenant)
			continue;
		w->tenant = strdup(y->asked.tenant);
		w->fetched = y->fetched;
		w->since_ns = now_ns;
		snprintf(w->session, sizeof(w->session), "%s",
		         y->asked.session);
		return;
	}
}

static void
ask_again(const struct symbolizing_wait *w, struct store *s, const char *host)
{
	int rc = symbolize_ask(s, w->tenant, w->session, host);

	if (rc && rc != -ENOENT)
		log_warn("%s: not symbolized again: %s", w->session,
		         strerror(-rc));
}

void
symbolizing_again(struct symbolizing *y, struct store *s, const char *host,
                  uint64_t fetched, bool busy, int64_t now_ns)
{
	y->fetched = fetched;
	for (size_t i = 0; i < ARRAY_LEN(y->waiting) && !busy; i++) {
		struct symbolizing_wait *w = &y->waiting[i];

		if (!w->tenant || now_ns - w->since_ns < SYMBOLIZING_ASKS_NS)
			continue;
		if (fetched > w->fetched)
			ask_again(w, s, host);
		wait_done(w);
	}
}

/* --- from the analyser ---------------------------------------------------- */

/* Updates the session's quality report with the names found now. */
static int
new_quality(const struct symbolizing *y, const struct msg_done *done,
            struct buf *out)
{
	CLEANUP_JSON json_t *j =
		json_loads(y->asked.quality, JSON_REJECT_DUPLICATES, NULL);

	int64_t frames = done->quality.frames;
	int64_t named = done->quality.symbolized;
	int rc;

	if (!json_is_object(j))
		return -EBADMSG;
	rc = is_upload(y) ? symbolize_report(j, frames, named, true)
	                  : quality_named(j, frames, named);
	return rc ? rc : json_write(j, out);
}

static int
finish(struct symbolizing *y, struct store *s, const struct msg_done *done,
       int summary_fd)
{
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RUN_SUMMARY struct run_summary summary = RUN_SUMMARY_INIT;
	struct blob blob;
	int rc = runs_read_summary(summary_fd, &summary);

	if (!rc)
		rc = new_quality(y, done, &quality);
	if (!rc)
		rc = blob_seal(&y->profile, &blob);
	if (rc)
		return rc;
	rc = symbolize_finish(s, &y->asked, buf_str(&summary.top),
	                      buf_str(&quality), &blob);
	if (rc)
		blob_discard(s, &blob);
	return rc;
}

/* Asks again later: a capture may be stored before the process that made it
 * has ended. */
static void
ask_later(struct symbolizing *y, struct store *s)
{
	int rc = symbolize_again(s, &y->asked);

	y->next_ns = clock_mono_ns() + BUSY_NS;
	if (rc && rc != -ESTALE)
		log_warn("%s: %s", y->asked.session, strerror(-rc));
	symbolizing_forget(y);
}

bool
symbolizing_take(struct symbolizing *y, struct store *s,
                 const struct msg_done *done, int summary_fd)
{
	int rc;

	if (!y->asked.session || strcmp(y->asked.session, done->id) != 0)
		return false;
	pushed_report(&y->pushed, s, done);
	if (done->error == CAPTURE_BUSY) {
		ask_later(y, s);
		return true;
	}
	if (done->error) {
		fail(y, s, capture_error_text(done->error));
		return true;
	}
	rc = finish(y, s, done, summary_fd);
	if (rc && rc != -ESTALE) {
		fail(y, s, capture_error_text(CAPTURE_WRITE));
		return true;
	}
	log_info("%s: symbolized, %lld of %lld frames have names",
	         y->asked.session, (long long)done->quality.symbolized,
	         (long long)done->quality.frames);
	if (is_upload(y) && done->quality.symbolized < done->quality.frames)
		await_files(y);
	symbolizing_forget(y);
	return true;
}

void
symbolizing_drop(struct symbolizing *y, struct store *s, const char *host)
{
	int rc;

	if (!y->asked.session)
		return;
	symbolizing_forget(y);
	rc = symbolize_take_over(s, host);
	if (rc < 0)
		log_warn("symbolizing: left to the next worker: %s",
		         strerror(-rc));
}
