/* Makes the body with which a host sends a result to the centre. */
#include "agent_parts.h"

#include "base/file.h"
#include "base/json_out.h"
#include "base/log.h"
#include "store/blob.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES ((size_t)512 << 10)
#define MESSAGE_MAX    900
#define PIECE_BYTES    65536

struct result_part {
	int fd; /* -1: no file */
	int64_t bytes;
};

static int
open_part(const struct agent *a, const char *session, const char *kind,
          struct result_part *out)
{
	struct blob blob;
	int rc = blob_of_session(a->store, session, kind, &blob);

	if (!rc)
		rc = blob_open(a->store, &blob, &out->fd);
	if (!rc)
		out->bytes = blob.length;
	return rc == -ENOENT ? 0 : rc;
}

static int
copy_part(const struct result_part *p, int to)
{
	char piece[PIECE_BYTES];
	int64_t at = 0;
	int rc = 0;

	while (!rc && at < p->bytes) {
		int64_t left = p->bytes - at;
		ssize_t n = pread(
			p->fd, piece,
			left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, at);

		if (n <= 0)
			return n ? -errno : -EBADMSG;
		rc = fd_write_all(to, piece, (size_t)n);
		at += n;
	}
	return rc;
}

struct outcome {
	const char *state, *code, *message;
};

static struct outcome
outcome_of(const struct agent_held *h)
{
	if (h->refused)
		return (struct outcome){
			"failed", "ResultRefused",
			"the centre could not store the profile; it is kept on "
			"the host that took it"};
	if (!*h->status)
		return (struct outcome){
			"failed", "ResultLost",
			"the profile was removed from the host that took it "
			"before the centre answered: see max_age and max_bytes "
			"in [store] of its stoker.conf"};
	return (struct outcome){h->state, h->error_code, h->error_message};
}

static int64_t
ago(int64_t now_ms, int64_t then_ms)
{
	return then_ms > 0 && then_ms < now_ms ? now_ms - then_ms : 0;
}

static void
put_session(struct buf *out, const struct session *s, int64_t now_ms)
{
	json_put_int(out, "beganAgoMs", ago(now_ms, s->started_ms));
	json_put_int(out, "endedAgoMs", ago(now_ms, s->completed_ms));
	json_put_int(out, "durationMs", s->duration_ms);
	json_put_int(out, "sampleCount", s->sample_count);
	json_put_real(out, "rate", s->rate);
	json_put_raw(out, "labels", s->labels, "{}");
	json_put_raw(out, "topFunctions", s->top_functions, "[]");
	json_put_raw(out, "quality", s->quality, "{}");
}

static int
put_line(const struct agent *a, const struct agent_held *h,
         const struct result_part *profile, const struct result_part *timeline,
         struct buf *out)
{
	static const struct session none;
	CLEANUP_SESSION struct session s = none;
	struct outcome is = outcome_of(h);
	char message[MESSAGE_MAX];
	int64_t now_ms;
	int rc = store_now(a->store, &now_ms);

	if (!rc && *h->status)
		rc = session_get(a->store, h->tenant, h->session, &s);
	if (rc)
		return rc;
	snprintf(message, sizeof(message), "%s", is.message);
	json_open(out, NULL, '{');
	json_put_text(out, "host", a->host);
	json_put_int(out, "attempt", h->attempt);
	json_put_text(out, "state", is.state);
	json_put_text(out, "errorCode", is.code);
	json_put_text(out, "errorMessage", message);
	json_put_int(out, "profileBytes", profile->bytes);
	json_put_int(out, "timelineBytes", timeline->bytes);
	if (s.id)
		put_session(out, &s, now_ms);
	else
		buf_puts(out, ",\"beganAgoMs\":0,\"endedAgoMs\":0,"
		              "\"durationMs\":0,\"sampleCount\":0,\"rate\":0,"
		              "\"topFunctions\":[],\"quality\":{}");
	json_close(out, '}');
	buf_putc(out, '\n');
	return buf_err(out);
}

static int
write_result(struct agent *a, const struct agent_held *h,
             struct result_part *profile, struct result_part *timeline, int to)
{
	CLEANUP_BUF struct buf line = BUF_INIT(LINE_MAX_BYTES);
	int64_t most = a->max_bytes - (int64_t)LINE_MAX_BYTES;
	int rc = 0;

	if (!h->refused && *h->status)
		rc = open_part(a, h->session, BLOB_PPROF, profile)
		             ?: open_part(a, h->session, BLOB_TIMELINE,
		                          timeline);
	if (!rc && timeline->bytes && profile->bytes + timeline->bytes > most) {
		log_warn("centre: %s goes without its timeline, which it has "
		         "no room for",
		         h->session);
		timeline->bytes = 0;
	}
	if (!rc)
		rc = put_line(a, h, profile, timeline, &line);
	if (!rc)
		rc = fd_write_all(to, line.p, line.len);
	if (!rc)
		rc = copy_part(profile, to);
	return rc ? rc : copy_part(timeline, to);
}

int
agent_open_result(struct agent *a, const struct agent_held *h, int *out_fd)
{
	CLEANUP_FD int fd = memfd_create("stoker-result", MFD_CLOEXEC);
	struct result_part profile = {-1, 0}, timeline = {-1, 0};
	int rc = fd < 0 ? -errno : 0;

	if (!rc)
		rc = write_result(a, h, &profile, &timeline, fd);
	close_ptr(&profile.fd);
	close_ptr(&timeline.fd);
	if (!rc)
		*out_fd = TAKE_FD(fd);
	return rc;
}
