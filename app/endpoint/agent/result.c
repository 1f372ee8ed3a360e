/*
 * POST /agent/result/{sessionId}: the result of a host's job.
 *
 * The body is a line of JSON, the profile as gzipped pprof, the timeline and
 * the listing; the line has their lengths. All of it may be forged: the profile
 * is decoded within the limits of [upload] before it is stored, its top
 * functions are computed again, and texts and numbers are bounded. Service,
 * type and tenant are those of the session; the host does not send them.
 *
 * Repeating a stored result changes nothing, so that a host whose reply was
 * lost may send it again.
 */
#include "endpoint/call.h"
#include "profile/gzip.h"
#include "profile/import.h"
#include "profile/listing.h"
#include "profile/pprof.h"
#include "profile/timeline.h"
#include "store/agent.h"
#include "store/blob.h"
#include "store/container.h"
#include "store/token.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LINE_MAX_BYTES ((size_t)512 << 10)
#define TOP_MAX        100
#define NAME_MAX_BYTES 8192
#define QUALITY_MAX    ((size_t)64 << 10)
#define RATE_MAX_HZ    1e6
#define AGO_MAX_MS     INT64_C(31536000000) /* a year */
#define COUNT_MAX      (INT64_C(1) << 53)

struct result {
	json_t *line, *labels;
	struct job_end end;
	struct session_result is;
	struct agent_times times;
	struct profile *decoded;
	struct profile_unnamed unnamed;
	struct buf top, quality;
	int64_t attempt, profile_bytes, timeline_bytes, listing_bytes;
	const char *profile, *timeline, *listing; /* in the body */
};

static void
result_done(struct result *r)
{
	json_decref(r->line);
	json_decref(r->labels);
	profile_free(r->decoded);
	buf_done(&r->top);
	buf_done(&r->quality);
}

/* --- the line ------------------------------------------------------------- */

static int
take_int(struct call *c, const json_t *j, const char *name, int64_t max,
         int64_t *out)
{
	const json_t *v = json_object_get(j, name);
	int64_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 0 || n > max)
		return fail_param(c, name, "a whole number within bounds",
		                  v ? "something else" : "nothing");
	*out = n;
	return 0;
}

static bool
is_text(const char *s, size_t max)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ')
			return false;
	return n <= max;
}

static int
take_text(struct call *c, const json_t *j, const char *name, size_t max,
          const char **out)
{
	const char *s = json_string_value(json_object_get(j, name));

	if (!s || !is_text(s, max))
		return fail_param(c, name, "a text within bounds",
		                  s ? "a longer one, or control characters"
		                    : "none");
	*out = s;
	return 0;
}

static int
take_state(struct call *c, const json_t *j, struct job_end *end)
{
	static const char *const states[] = {"done", "failed", "cancelled"};

	if (take_text(c, j, "state", 16, &end->state) ||
	    take_text(c, j, "errorCode", 63, &end->error_code) ||
	    take_text(c, j, "errorMessage", 1000, &end->error_message))
		return -1;
	if (*end->error_code && !id_valid("", end->error_code))
		return fail_param(c, "errorCode", "an error code",
		                  end->error_code);
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (!strcmp(states[i], end->state))
			return 0;
	return fail_param(c, "state", "done, failed or cancelled", end->state);
}

static bool
put_share(struct buf *out, const json_t *of, const char *name)
{
	const json_t *v = json_object_get(of, name);
	double share = json_number_value(v);

	if (!json_is_number(v) || !isfinite(share) || fabs(share) > COUNT_MAX)
		return false;
	json_put_real(out, name, share);
	return true;
}

static bool
put_name(struct buf *out, const json_t *of, const char *name)
{
	const char *s = json_string_value(json_object_get(of, name));

	if (!s || strlen(s) > NAME_MAX_BYTES)
		return false;
	json_put_text(out, name, s);
	return true;
}

static bool
put_function(struct buf *out, const json_t *f)
{
	bool good;

	json_open(out, NULL, '{');
	good = put_name(out, f, "funcName") && put_name(out, f, "package") &&
	       put_share(out, f, "selfPct") &&
	       put_share(out, f, "cumulativePct") &&
	       put_name(out, f, "sampleCount");
	json_close(out, '}');
	return good;
}

static int
take_top(struct call *c, const json_t *j, struct buf *out)
{
	const json_t *list = json_object_get(j, "topFunctions");
	size_t i;
	json_t *f;

	if (!json_is_array(list) || json_array_size(list) > TOP_MAX)
		return fail_param(c, "topFunctions", "a list of them", "none");
	json_open(out, NULL, '[');
	json_array_foreach(list, i, f) {
		if (!put_function(out, f))
			return fail_param(c, "topFunctions", "a list of them",
			                  "another list");
	}
	json_close(out, ']');
	return buf_err(out) ? fail_memory(c) : 0;
}

static int
take_quality(struct call *c, const json_t *j, struct buf *out)
{
	const json_t *quality = json_object_get(j, "quality");

	if (json_is_object(quality) && !json_write(quality, out))
		return 0;
	return fail_param(c, "quality", "an object of at most 64 KiB",
	                  "something else");
}

static int
take_measures(struct call *c, struct result *r)
{
	const json_t *j = r->line, *rate = json_object_get(j, "rate");
	struct session_result *is = &r->is;

	is->rate = json_number_value(rate);
	if (!json_is_number(rate) ||
	    !(is->rate >= 0 && is->rate <= RATE_MAX_HZ))
		return fail_param(c, "rate", "samples per second",
		                  "something else");
	if (take_int(c, j, "durationMs", AGO_MAX_MS, &is->duration_ms) ||
	    take_int(c, j, "sampleCount", COUNT_MAX, &is->sample_count) ||
	    take_top(c, j, &r->top) || take_quality(c, j, &r->quality))
		return -1;
	is->top_functions = buf_str(&r->top);
	is->quality = buf_str(&r->quality);
	return 0;
}

/* Takes the labels that could be a container's. A host of an earlier release
 * sends none. */
static int
take_labels(struct call *c, struct result *r)
{
	json_t *labels = json_object_get(r->line, "labels"), *v;
	const char *key, *text;

	r->labels = json_object();
	if (!r->labels)
		return fail_memory(c);
	if (labels && !json_is_object(labels))
		return fail_param(c, "labels", "an object", "something else");
	json_object_foreach(labels, key, v) {
		text = json_string_value(v);
		if (text && container_text_ok(text, strlen(text)) &&
		    container_text_ok(key, strlen(key)) &&
		    json_object_set(r->labels, key, v))
			return fail_memory(c);
	}
	return 0;
}

/* Takes the length of the listing. A host of an earlier release sends none. */
static int
take_listing(struct call *c, struct result *r)
{
	return json_object_get(r->line, "listingBytes")
	               ? take_int(c, r->line, "listingBytes", LISTING_MAX_FILE,
	                          &r->listing_bytes)
	               : 0;
}

static int
take_line(struct call *c, struct result *r)
{
	const json_t *j = r->line;

	return take_int(c, j, "attempt", INT32_MAX, &r->attempt) ||
	                       take_state(c, j, &r->end) ||
	                       take_int(c, j, "beganAgoMs", AGO_MAX_MS,
	                                &r->times.began_ago_ms) ||
	                       take_int(c, j, "endedAgoMs", AGO_MAX_MS,
	                                &r->times.ended_ago_ms) ||
	                       take_int(c, j, "profileBytes", COUNT_MAX,
	                                &r->profile_bytes) ||
	                       take_int(c, j, "timelineBytes", COUNT_MAX,
	                                &r->timeline_bytes) ||
	                       take_listing(c, r) || take_labels(c, r) ||
	                       take_measures(c, r)
	               ? -1
	               : 0;
}

static int
read_line(struct call *c, struct result *r)
{
	const char *body = c->req->body ? c->req->body : "", *end;
	size_t n = c->req->body_len, line;
	const char *host;
	json_error_t e;

	end = memchr(body, '\n', n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES);
	if (!end)
		return fail_param(c, "body", "a line of JSON first", "none");
	line = (size_t)(end - body);
	r->line = json_loadb(body, line, JSON_REJECT_DUPLICATES, &e);
	if (!json_is_object(r->line))
		return fail(c, InvalidJson, r->line ? "no object" : e.text);
	host = json_string_value(json_object_get(r->line, "host"));
	if (host && strcmp(host, c->caller.host) != 0)
		return fail_param(c, "host", "the host of the key", host);
	if (take_line(c, r))
		return -1;
	n -= line + 1;
	if ((uint64_t)r->profile_bytes > n ||
	    (uint64_t)(r->timeline_bytes + r->listing_bytes) !=
	            n - (uint64_t)r->profile_bytes)
		return fail_param(c, "profileBytes",
		                  "with timelineBytes and listingBytes the "
		                  "bytes that follow",
		                  "another length");
	r->profile = end + 1;
	r->timeline = r->profile + r->profile_bytes;
	r->listing = r->timeline + r->timeline_bytes;
	return 0;
}

/* --- the bytes ------------------------------------------------------------ */

static int
bad_profile(struct call *c, int rc, const struct buf *why)
{
	if (rc == -ENOMEM)
		return fail_memory(c);
	detail_text(c, "reason", buf_str(why));
	if (rc == -E2BIG || rc == -EOVERFLOW)
		return fail(c, PayloadTooLarge, buf_str(why));
	return fail(c, InvalidProfile, buf_str(why));
}

/* Decodes the profile within the limits of [upload]. */
static int
read_profile(struct call *c, struct result *r)
{
	const struct conf *conf = c->env->conf;
	const struct import_limits limits = {
		.raw_bytes = (size_t)conf->upload_max_raw_bytes,
		.memory = (size_t)conf->upload_max_memory,
		.ratio = (uint32_t)conf->upload_max_ratio,
	};
	const struct pprof_limits bounds = {
		.bytes = limits.raw_bytes,
		.memory = limits.memory,
	};
	CLEANUP_BUF struct buf raw = BUF_INIT(limits.raw_bytes);
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	int rc;

	if (!r->profile_bytes)
		return 0;
	if (gzip_is(r->profile, (size_t)r->profile_bytes)) {
		rc = import_inflate(r->profile, (size_t)r->profile_bytes,
		                    &limits, &raw, &why);
	} else {
		buf_puts(&why, "it is not gzipped");
		rc = -EBADMSG;
	}
	if (!rc)
		rc = pprof_decode_within(raw.p, raw.len, &bounds, &r->decoded,
		                         &why);
	if (!rc)
		rc = profile_list_unnamed(r->decoded, &r->unnamed);
	r->is.unnamed = r->unnamed.build_ids;
	r->is.nunnamed = r->unnamed.n;
	return rc ? bad_profile(c, rc, &why) : 0;
}

struct bytes {
	struct blob_writer profile_writer, timeline_writer, listing_writer;
	struct blob profile, timeline, listing;
};

static void
bytes_done(struct bytes *b)
{
	blob_close(&b->profile_writer);
	blob_close(&b->timeline_writer);
	blob_close(&b->listing_writer);
}

static int
store_bytes(struct store *s, struct result *r, struct bytes *b)
{
	int rc = 0;

	if (r->profile_bytes) {
		rc = blob_put(s, BLOB_PPROF, r->profile,
		              (size_t)r->profile_bytes, &b->profile_writer,
		              &b->profile);
		r->end.blob = rc ? NULL : &b->profile;
		r->end.result = &r->is;
	}
	if (!rc && r->timeline_bytes && r->profile_bytes) {
		rc = blob_put(s, BLOB_TIMELINE, r->timeline,
		              (size_t)r->timeline_bytes, &b->timeline_writer,
		              &b->timeline);
		r->end.timeline = rc ? NULL : &b->timeline;
	}
	if (!rc && r->listing_bytes && r->profile_bytes) {
		rc = blob_put(s, BLOB_LISTING, r->listing,
		              (size_t)r->listing_bytes, &b->listing_writer,
		              &b->listing);
		r->end.listing = rc ? NULL : &b->listing;
	}
	return rc;
}

static void
discard(struct store *s, const struct result *r)
{
	if (r->end.blob)
		blob_discard(s, r->end.blob);
	if (r->end.timeline)
		blob_discard(s, r->end.timeline);
	if (r->end.listing)
		blob_discard(s, r->end.listing);
}

/* --- the job -------------------------------------------------------------- */

static int
answer(struct call *c, const char *id, bool again)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "sessionId", id);
	json_put_bool(out, "again", again);
	return answer_end(c);
}

/* True if this result was stored before. A result that reports a worker's death
 * and has a checkpoint is new if the centre has no profile of that job. */
static bool
is_stored(struct store *s, const struct agent_job *j, const struct result *r)
{
	struct blob blob;

	if (strcmp(j->state, r->end.state) != 0 ||
	    strcmp(j->error_code, r->end.error_code) != 0)
		return false;
	return strcmp(j->error_code, "WorkerDied") != 0 || !r->profile_bytes ||
	       !blob_of_session(s, j->session, BLOB_PPROF, &blob);
}

static bool
may_end(const struct agent_job *j)
{
	return !strcmp(j->state, "running") || !strcmp(j->state, "queued") ||
	       !strcmp(j->error_code, "WorkerDied");
}

/* Labels for which there is no room are left out. */
static int
label(struct call *c, const struct agent_job *j, const struct result *r)
{
	int rc = session_add_labels(&c->env->store, j->session, r->labels);

	return rc && rc != -E2BIG ? fail_store(c, rc) : 0;
}

static int
finish(struct call *c, const struct agent_job *j, struct result *r)
{
	CLEANUP(bytes_done)
	struct bytes b = {.profile_writer = BLOB_WRITER_INIT,
	                  .timeline_writer = BLOB_WRITER_INIT,
	                  .listing_writer = BLOB_WRITER_INIT};
	struct store *s = &c->env->store;
	int rc = store_bytes(s, r, &b);

	if (!rc)
		rc = agent_finish(s, j, &r->end, &r->times);
	if (!rc)
		return label(c, j, r) ?: answer(c, j->session, false);
	discard(s, r);
	return rc == -ESTALE ? fail(c, StaleAttempt) : fail_store(c, rc);
}

int
agent_result(struct call *c)
{
	const char *id = param_text(c, P_SendAgentResult_sessionId);
	CLEANUP_AGENT_JOB struct agent_job j = {0};
	CLEANUP(result_done)
	struct result r = {.top = BUF_INIT(LINE_MAX_BYTES * 2),
	                   .quality = BUF_INIT(QUALITY_MAX)};
	int rc = agent_find(&c->env->store, c->caller.host, id, &j);

	if (!rc && !token_is_within(j.tenant, c->caller.tenants))
		rc = -ENOENT;
	if (rc == -ENOENT) {
		detail_text(c, "sessionId", id);
		return fail(c, UnknownSession, id);
	}
	if (rc)
		return fail_store(c, rc);
	if (read_line(c, &r))
		return -1;
	if (r.attempt != j.attempt || !r.attempt)
		return fail(c, StaleAttempt);
	if (is_stored(&c->env->store, &j, &r))
		return answer(c, id, true);
	if (!may_end(&j))
		return fail(c, StaleAttempt);
	if (read_profile(c, &r))
		return -1;
	return finish(c, &j, &r);
}
