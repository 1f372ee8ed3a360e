#include "profile_json.h"

#include "base/clock.h"
#include "base/hash.h"

#include <string.h>

static bool
is_running(const struct session *s)
{
	return !strcmp(s->status, SESSION_RUNNING);
}

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

static void
put_session(struct call *c, struct buf *out, const struct session *s,
            const char *url)
{
	json_put_text(out, "id", s->id);
	json_put_text(out, "service", s->service);
	json_put_text(out, "profileType", s->type);
	json_put_text(out, "status", s->status);
	json_put_time(out, "startedAt", s->started_ms);
	if (s->completed_ms)
		json_put_time(out, "completedAt", s->completed_ms);
	else
		json_put_null(out, "completedAt");
	json_put_int(out, "durationSeconds", (s->duration_ms + 500) / MS_PER_S);
	json_put_int(out, "sampleCount", s->sample_count);
	json_put_raw(out, "topFunctions", s->top_functions, "[]");
	json_put_text(out, "flameGraphUrl", url);
	json_put_text(out, "phase", s->phase);
	json_put_real(out, "progress", s->progress);
	put_error(out, s);
	json_put_raw(out, "quality", s->quality, "{}");
	json_put_real(out, "sampleRate",
	              s->rate > 0 ? s->rate : (double)s->asked_rate);
	json_put_raw(out, "labels", s->labels, "{}");
	put_links(out, c->env->conf->api_public_url, s->id, url);
}

int
profile_answer(struct call *c, const struct session *s)
{
	CLEANUP_BUF struct buf url = BUF_INIT(LINK_MAX);
	const struct conf *conf = c->env->conf;
	struct buf *out;
	int rc = link_make(&c->env->store, &c->env->links, conf->api_public_url,
	                   s->tenant, s->id, clock_wall_ms(),
	                   conf->api_link_ttl, &url);

	if (rc)
		return fail_store(c, rc);
	out = answer_json(c);
	put_session(c, out, s, buf_str(&url));
	if (answer_end(c))
		return -1;
	if (is_running(s))
		reply_retry(c, profile_retry_s(s));
	else if (answer_etag(c, "%016llx",
	                     (unsigned long long)hash_bytes(out->p, out->len)))
		return answer_empty(c, 304);
	return 0;
}
