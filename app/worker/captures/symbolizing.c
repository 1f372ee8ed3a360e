#include "symbolizing.h"

#include "base/json.h"
#include "base/log.h"
#include "runs_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
symbolizing_forget(struct symbolizing *y)
{
	symbolize_done(&y->asked);
	blob_close(&y->profile);
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

static int
send_ask(const struct symbolizing *y, int analyser, int old)
{
	struct msg_capture m = {.type = MSG_SYMBOLIZE};
	int fds[] = {y->profile.fd, old};

	snprintf(m.id, sizeof(m.id), "%s", y->asked.session);
	return msg_send(analyser, &m, sizeof(m), fds, ARRAY_LEN(fds));
}

static int
start(struct symbolizing *y, struct store *s, int analyser)
{
	CLEANUP_FD int old = -1;
	struct blob blob;
	int rc = blob_of_session(s, y->asked.session, BLOB_PPROF, &blob);

	if (!rc)
		rc = blob_open(s, &blob, &old);
	if (!rc)
		rc = blob_create(s, BLOB_PPROF, &y->profile);
	return rc ? rc : send_ask(y, analyser, old);
}

int
symbolizing_step(struct symbolizing *y, struct store *s, const char *host,
                 int analyser, int64_t now_ns, int64_t finish_ns)
{
	int rc;

	if (y->asked.session && now_ns > y->deadline_ns)
		fail(y, s, capture_error_text(CAPTURE_FINISH_CPU));
	if (y->asked.session || analyser < 0)
		return 0;
	rc = symbolize_claim(s, host, &y->asked);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	y->profile = (struct blob_writer)BLOB_WRITER_INIT;
	y->deadline_ns = now_ns + finish_ns + OVERDUE_NS;
	rc = start(y, s, analyser);
	if (rc)
		fail(y, s,
		     rc == -ENOENT ? "the profile's data is no longer stored"
		                   : capture_error_text(CAPTURE_INTERNAL));
	return 0;
}

/* --- from the analyser ---------------------------------------------------- */

/* Updates the session's quality report with the names found now. */
static int
new_quality(const struct symbolizing *y, const struct msg_done *done,
            struct buf *out)
{
	CLEANUP_JSON json_t *j =
		json_loads(y->asked.quality, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(j))
		return -EBADMSG;
	return quality_named(j, done->quality.frames, done->quality.symbolized)
	               ?: json_write(j, out);
}

static int
finish(struct symbolizing *y, struct store *s, const struct msg_done *done,
       int top_fd)
{
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf top = BUF_INIT(TOP_MAX);
	struct blob blob;
	int rc = runs_read_top(top_fd, &top);

	if (!rc)
		rc = new_quality(y, done, &quality);
	if (!rc)
		rc = blob_seal(&y->profile, &blob);
	if (rc)
		return rc;
	rc = symbolize_finish(s, &y->asked, buf_str(&top), buf_str(&quality),
	                      &blob);
	if (rc)
		blob_discard(s, &blob);
	return rc;
}

bool
symbolizing_take(struct symbolizing *y, struct store *s,
                 const struct msg_done *done, int top_fd)
{
	int rc;

	if (!y->asked.session || strcmp(y->asked.session, done->id) != 0)
		return false;
	if (done->error) {
		fail(y, s, capture_error_text(done->error));
		return true;
	}
	rc = finish(y, s, done, top_fd);
	if (rc && rc != -ESTALE) {
		fail(y, s, capture_error_text(CAPTURE_WRITE));
		return true;
	}
	log_info("%s: symbolized, %lld of %lld frames have names",
	         y->asked.session, (long long)done->quality.symbolized,
	         (long long)done->quality.frames);
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
