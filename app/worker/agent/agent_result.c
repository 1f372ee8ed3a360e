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

/* The files of a result, in the order in which they are sent. */
enum { PROFILE, TIMELINE, LISTING, PARTS };
static const char *const kinds[PARTS] = {BLOB_PPROF, BLOB_TIMELINE,
                                         BLOB_LISTING};

struct result_part {
	int fd; /* -1: no file */
	int64_t bytes;
};

static void parts_done(struct result_part (*parts)[PARTS])
{
	for (size_t i = 0; i < PARTS; i++)
		close_ptr(&(*parts)[i].fd);
}

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

/* Opens the files of a session. Files other than the profile are left out if
 * there is no room for them. */
static int
open_parts(const struct agent *a, const char *session,
           struct result_part parts[static PARTS])
{
	int64_t left = a->max_bytes - (int64_t)LINE_MAX_BYTES;
	int rc = 0;

	for (size_t i = 0; i < PARTS && !rc; i++) {
		rc = open_part(a, session, kinds[i], &parts[i]);
		if (i && parts[i].bytes && parts[i].bytes > left) {
			log_warn("centre: %s goes without its %s, which it has "
			         "no room for",
			         session, kinds[i]);
			parts[i].bytes = 0;
		}
		left -= parts[i].bytes;
	}
	return rc;
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
         const struct result_part parts[static PARTS], struct buf *out)
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
	json_put_int(out, "profileBytes", parts[PROFILE].bytes);
	json_put_int(out, "timelineBytes", parts[TIMELINE].bytes);
	json_put_int(out, "listingBytes", parts[LISTING].bytes);
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
             struct result_part parts[static PARTS], int to)
{
	CLEANUP_BUF struct buf line = BUF_INIT(LINE_MAX_BYTES);
	int rc = 0;

	if (!h->refused && *h->status)
		rc = open_parts(a, h->session, parts);
	if (!rc)
		rc = put_line(a, h, parts, &line);
	if (!rc)
		rc = fd_write_all(to, line.p, line.len);
	for (size_t i = 0; i < PARTS && !rc; i++)
		rc = copy_part(&parts[i], to);
	return rc;
}

int
agent_open_result(struct agent *a, const struct agent_held *h, int *out_fd)
{
	CLEANUP_FD int fd = memfd_create("stoker-result", MFD_CLOEXEC);
	CLEANUP(parts_done)
	struct result_part parts[PARTS] = {{-1, 0}, {-1, 0}, {-1, 0}};
	int rc = fd < 0 ? -errno : write_result(a, h, parts, fd);

	if (!rc)
		*out_fd = TAKE_FD(fd);
	return rc;
}
