#include "profile_json.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "endpoint/call/db_watch.h"

#include <errno.h>
#include <string.h>

/* --- waiting until a profile has ended ------------------------------------ */

bool
profile_runs(const struct session *s)
{
	return !strcmp(s->status, SESSION_RUNNING);
}

/* Reads the session again: returns 0 when it has ended, or is gone, or
 * -EAGAIN. */
static int
has_ended(struct call *c, void *arg)
{
	struct session *s = arg, now = {0};

	if (session_get(&c->env->store, s->tenant, s->id, &now))
		return 0;
	session_done(s);
	*s = now;
	return profile_runs(s) ? -EAGAIN : 0;
}

/* If waiting is not possible, the reply shows the present state. */
void
profile_wait(struct call *c, int64_t seconds, struct session *s)
{
	if (profile_runs(s))
		(void)!db_watch_until(c, has_ended, s,
		                      clock_mono_ns() + seconds * NS_PER_S);
}

/* --- replies -------------------------------------------------------------- */

int
profile_retry_s(const struct session *s)
{
	int64_t end = s->started_ms + s->asked_seconds * MS_PER_S;
	int64_t left = (end - clock_wall_ms()) / MS_PER_S + 1;

	return left < 1                  ? 1
	       : left > s->asked_seconds ? (int)s->asked_seconds + 1
	                                 : (int)left;
}

static void
put_error(struct buf *out, const struct session *s)
{
	json_open(out, "error", '{');
	json_put_text(out, "error_code", s->error_code);
	json_put_text(out, "message", s->error_message);
	json_close(out, '}');
}

static void
put_links(struct buf *out, const char *base, const char *id, const char *url)
{
	json_open(out, "links", '{');
	buf_addf(out, "\"self\":\"%s" PROFILE_PATH "%s\"", base, id);
	json_put_text(out, "flamegraph", url);
	buf_addf(out, ",\"pprof\":\"%s&format=pprof\"", url);
	buf_addf(out, ",\"folded\":\"%s&format=folded\"", url);
	json_close(out, '}');
}

/* Writes at most top of the stored entries; all when top is negative. */
static void
put_top(struct buf *out, const char *stored, int64_t top)
{
	CLEANUP_JSON json_t *all = NULL;

	if (top < 0) {
		json_put_raw(out, "topFunctions", stored, "[]");
		return;
	}
	json_open(out, "topFunctions", '[');
	all = top ? json_loads(stored, 0, NULL) : NULL;
	for (size_t i = 0; i < json_array_size(all) && (int64_t)i < top; i++) {
		buf_puts(out, i ? "," : "");
		if (json_write(json_array_get(all, i), out))
			return; /* the buffer has the error */
	}
	json_close(out, ']');
}

static void
put_started(struct buf *out, const struct profile_started *started, size_t n)
{
	json_open(out, "started", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(out, NULL, '{');
		json_put_text(out, "host", started[i].host);
		json_put_text(out, "id", started[i].id);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_session(struct call *c, struct buf *out, const struct session *s,
            const char *url, int64_t top)
{
	json_put_text(out, "id", s->id);
	json_put_text(out, "sessionId", s->id);
	json_put_text(out, "service", s->service);
	json_put_text(out, "profileType", s->type);
	json_put_text(out, "status", s->status);
	json_put_time(out, "startedAt", s->started_ms);
	json_put_time_or_null(out, "completedAt", s->completed_ms);
	json_put_int(out, "durationSeconds", (s->duration_ms + 500) / MS_PER_S);
	json_put_int(out, "sampleCount", s->sample_count);
	put_top(out, s->top_functions, top);
	json_put_text(out, "flameGraphUrl", url);
	json_put_text(out, "phase", s->phase);
	json_put_real(out, "progress", s->progress);
	put_error(out, s);
	json_put_raw(out, "quality", s->quality, "{}");
	json_put_real(out, "sampleRate",
	              s->rate > 0 ? s->rate : (double)s->asked_rate);
	json_put_raw(out, "labels", s->labels, "{}");
	json_put_bool(out, "pinned", s->pinned);
	json_put_text(out, "host", s->host);
	put_links(out, c->env->conf->api_public_url, s->id, url);
}

static int
put_profile(struct call *c, struct buf *out, const struct session *s,
            int64_t top, const struct profile_started *started, size_t n)
{
	CLEANUP_BUF struct buf link = BUF_INIT(LINK_URL_MAX);
	const struct conf *conf = c->env->conf;
	int rc = link_flamegraph(
		&c->env->store, &c->env->links, conf->api_public_url, s->tenant,
		s->id, clock_wall_ms(), link_ttl(conf->api_link_ttl, s->pinned),
		&link);

	if (rc)
		return fail_store(c, rc);
	put_session(c, out, s, buf_str(&link), top);
	put_started(out, started, n);
	return 0;
}

int
profile_put(struct call *c, struct buf *out, const struct session *s,
            int64_t top)
{
	return put_profile(c, out, s, top, NULL, 0);
}

int
profile_answer(struct call *c, const struct session *s)
{
	return profile_answer_start(c, s, NULL, 0);
}

int
profile_answer_start(struct call *c, const struct session *s,
                     const struct profile_started *started, size_t n)
{
	struct buf *out = answer_json(c);

	if (put_profile(c, out, s, -1, started, n) || answer_end(c))
		return -1;
	if (profile_runs(s))
		reply_retry(c, profile_retry_s(s));
	else if (answer_etag(c, "%016llx",
	                     (unsigned long long)hash_bytes(out->p, out->len)))
		return answer_empty(c, 304);
	return 0;
}
