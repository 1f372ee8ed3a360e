#include "store_upload.h"

#include "base/clock.h"
#include "base/log.h"
#include "profile/pprof.h"
#include "profile/summary.h"
#include "store/blob.h"
#include "store/debug_file.h"
#include "store/session.h"
#include "store/symbolize.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#define MAX_FILE   ((size_t)256 << 20)
#define MAX_AHEAD  (INT64_C(86400) * MS_PER_S) /* how far ahead of our clock */
#define NS_PER_MS  INT64_C(1000000)
#define MAX_LENGTH (INT64_C(31) * 86400 * MS_PER_S)

/* A small body may inflate to more than was announced for it. */
static int
announce(void *arg, size_t bytes)
{
	struct call *c = arg;

	return bytes > c->reads ? call_reads(c, bytes - c->reads) : 0;
}

struct import_limits
taken_limits(struct call *c)
{
	const struct conf *conf = c->env->conf;

	return (struct import_limits){
		.raw_bytes = (size_t)conf->upload_max_raw_bytes,
		.memory = (size_t)conf->upload_max_memory,
		.ratio = (uint32_t)conf->upload_max_ratio,
		.strings = (uint32_t)conf->upload_max_strings,
		.samples = (uint32_t)conf->upload_max_samples,
		.inflated = announce,
		.arg = c,
	};
}

static int
unknown_format(struct call *c, const char *why)
{
	CLEANUP_BUF struct buf known = BUF_INIT(BUF_MAX_SMALL);

	buf_puts(&known, "a profile (");
	for (size_t i = 0; i < ninputs; i++)
		buf_addf(&known, "%s%s", i ? ", " : "", inputs[i].name);
	buf_addf(&known, "); %s", why);
	detail_text(c, "contentType", c->req->content_type);
	return fail(c, UnsupportedMediaType, buf_str(&known));
}

/* The receiver of the parts of a file. */
struct reading {
	struct call *c;
	taken_part *part;
	void *arg;
};

static int
go_on_reading(void *arg)
{
	const struct reading *r = arg;

	return call_go_on(r->c);
}

static int
take(void *arg, const struct importer_part *of, struct profile **made)
{
	const struct reading *r = arg;

	return r->part(r->arg, of, made);
}

int
taken_read(struct call *c, enum importer_task task, const struct import_ask *is,
           const struct part *file, taken_part *part, void *arg,
           struct buf *why)
{
	struct reading r = {c, part, arg};
	struct importer_ask ask = {
		.task = task,
		.is = *is,
		.tenant = c->caller.tenant,
		.end_ns = c->end_ns,
		.go_on = go_on_reading,
		.part = take,
		.arg = &r,
	};
	uint64_t more;
	int rc;

	for (;;) {
		ask.fits = c->reads;
		ask.memory = c->reads > CALL_LIGHT
		                     ? c->env->conf->api_request_memory
		                     : 0;
		rc = importer_read(c->env->importer, &ask, file->p, file->n,
		                   &more, why);
		if (rc != -EAGAIN)
			return rc;
		buf_clear(why);
		if (call_reads(c, (more ? more : CALL_LIGHT + 1) - c->reads))
			return -ECANCELED;
	}
}

/* Fails because no importer can be started. Without its forker, this process
 * ends after the reply, and its supervisor starts another one. */
static int
fail_importer(struct call *c, int rc)
{
	const struct finding *f = importer_finding(c->env->importer);

	buf_addf(&c->reply->cause, "importers: %s; %s", f->found, f->fix);
	if (rc == -ESRCH)
		raise(SIGTERM);
	detail_text(c, "lack", f->found);
	detail_text(c, "fix", f->fix);
	return fail_retry(c, 1, ImportersUnavailable, f->found, f->fix);
}

int
taken_refuse(struct call *c, int rc, const char *why)
{
	switch (rc) {
	case -ECANCELED:
		return -1; /* the call has failed */
	case -EOWNERDEAD:
		detail_text(c, "reason", why);
		return fail(c, ImportCrashed, why);
	case -ETIME:
		detail_int(c, "maxSeconds", c->env->conf->api_request_time);
		return fail(c, ImportTooSlow,
		            (long long)c->env->conf->api_request_time);
	case -ECHILD:
	case -ESRCH:
		return fail_importer(c, rc);
	case -EBADMSG:
		detail_text(c, "reason", why);
		return fail(c, InvalidProfile, why);
	case -E2BIG:
	case -EOVERFLOW:
		detail_text(c, "reason", why);
		return fail(c, PayloadTooLarge, why);
	case -EPROTONOSUPPORT:
		return unknown_format(c, why);
	case -ENOMEM:
		return fail_memory(c);
	default:
		buf_addf(&c->reply->cause, "upload: %s: %s", why,
		         strerror(-rc));
		return fail(c, InternalError);
	}
}

/* Data made of a profile and stored with it. */
struct derived {
	struct buf file, top, quality;
	int64_t samples;
	bool counted;                   /* samples are known */
	struct profile_unnamed unnamed; /* texts are the profile's */
	char *host;                     /* that looks for names; NULL: none */
};

static void
derived_done(struct derived *d)
{
	buf_done(&d->file);
	buf_done(&d->top);
	buf_done(&d->quality);
	free(d->host);
}

/* Appends each line of a text as a JSON string. */
static void
put_lines(const char *text, struct buf *out)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);

	for (size_t n; *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, "\n");
		buf_clear(&line);
		buf_add(&line, text, n);
		json_put_text(out, NULL, buf_str(&line));
	}
}

static void
put_quality(const struct taken *t, const struct derived *d, struct buf *b)
{

	json_open(b, NULL, '{');
	json_put_text(b, "source", "upload");
	json_put_text(b, "format", t->format);
	json_put_int(b, "samplesKept", d->samples);
	json_open(b, "notes", '[');
	if (!d->counted)
		json_put_text(b, NULL,
		              "the file does not say how many samples it has, "
		              "so comparisons cannot judge it");
	else if (d->samples < 100)
		json_put_text(b, NULL,
		              "fewer than 100 samples: shares are rough");
	put_lines(t->notes, b);
	json_close(b, ']');
	json_close(b, '}');
}

/* True if a worker may find names that the profile lacks. */
static bool
lacks_names(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nlocations; i++) {
		uint32_t m = p->locations[i].mapping;

		if (m != PROFILE_NONE && !profile_is_named(p, i) &&
		    (p->mappings[m].build_id || p->mappings[m].file))
			return true;
	}
	return false;
}

/* Finds the host that looks for names, if there is one. */
static int
find_host(struct call *c, const struct taken *t, const struct profile *p,
          struct derived *d)
{
	int rc = lacks_names(p)
	                 ? symbolize_host(&c->env->store, c->caller.tenant,
	                                  t->service, "", &d->host)
	                 : 0;

	return rc && rc != -ENOENT ? rc : profile_list_unnamed(p, &d->unnamed);
}

static int
write_quality(const struct taken *t, const struct profile *p, struct derived *d)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *report = NULL;
	uint32_t named;
	int rc;

	put_quality(t, d, &text);
	report = json_loads(buf_str(&text), 0, NULL);
	if (!report)
		return buf_err(&text) ? buf_err(&text) : -ENOMEM;
	rc = profile_count_named(p, &named)
	             ?: symbolize_report(report, p->nstack, named, !d->host);
	return rc ? rc : json_write(report, &d->quality);
}

static int
derive(const struct taken *t, const struct profile *p, struct derived *d)
{
	CLEANUP_TREE struct tree *tree = NULL;
	int r = tree_new(p, profile_type_index(p, NULL), &tree);

	if (!r)
		r = summary_top(tree, SUMMARY_FUNCTIONS, &d->top);
	if (r)
		return r;
	d->samples = tree->total_samples;
	d->counted = tree->counted;
	r = write_quality(t, p, d);
	return r ? r : pprof_encode(p, &d->file);
}

/* Returns the sampling rate of a profile whose period is a time. */
static double
rate_of(const struct taken *t, const struct profile *p)
{
	const char *unit = profile_text(p, p->period_type.unit);

	if (t->rate > 0 || p->period <= 0 || strcmp(unit, "nanoseconds"))
		return t->rate;
	return 1e9 / (double)p->period;
}

void
taken_times(const struct taken *t, const struct profile *p, int64_t *start_ms,
            int64_t *length_ms)
{
	int64_t start = t->started_ms ? t->started_ms : p->time_ns / NS_PER_MS;
	int64_t length = p->duration_ns > 0 ? p->duration_ns / NS_PER_MS
	                                    : t->duration_ms;

	*length_ms = length < 0 || length > MAX_LENGTH ? 0 : length;
	*start_ms = start <= 0 || start > clock_wall_ms() + MAX_AHEAD ? 0
	                                                              : start;
}

static int
store_session(struct call *c, const struct session_ask *ask,
              const struct session_result *result, const struct blob *blob,
              const struct derived *d, char out[static ID_MAX])
{
	struct store *s = &c->env->store;
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = session_upload(s, ask, result, blob, out);
	if (!rc && d->host)
		rc = symbolize_ask(s, ask->tenant, out, d->host)
		             ?: debug_file_want(s, out, d->unnamed.build_ids,
		                                d->unnamed.n);
	return audit_end(c, rc, out, "{\"uploaded\":true}");
}

/* Stores the bytes, which may take time, before the database is locked. */
static int
store_all(struct call *c, const struct session_ask *ask,
          const struct session_result *result, const struct derived *d,
          char out[static ID_MAX])
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct store *s = &c->env->store;
	struct blob blob;
	int stored,
		rc = blob_put(s, BLOB_PPROF, d->file.p, d->file.len, &w, &blob);

	if (rc)
		return fail_store(c, rc);
	rc = call_go_on(c) ?: call_begin(c);
	if (!rc) {
		stored = store_session(c, ask, result, &blob, d, out);
		rc = stored ? fail_service(c, stored, ask->service) : 0;
	}
	if (rc)
		blob_discard(s, &blob);
	return rc;
}

static int
refuse_underived(struct call *c, int rc)
{
	char why[160];

	if (rc == -EOVERFLOW)
		return taken_refuse(c, -EBADMSG,
		                    "the sum of its values exceeds 64 bits");
	snprintf(why, sizeof(why),
	         "its call tree has more than %u nodes, or its stacks more "
	         "than %u frames together",
	         TREE_MAX_NODES, TREE_MAX_FRAMES);
	return taken_refuse(c, rc, why);
}

int
taken_store(struct call *c, const struct taken *t, const struct profile *p,
            char out[static ID_MAX])
{
	CLEANUP(derived_done)
	struct derived d = {BUF_INIT(MAX_FILE),
	                    BUF_INIT(MAX_FILE),
	                    BUF_INIT(BUF_MAX_SMALL),
	                    0,
	                    false,
	                    {.n = 0},
	                    NULL};
	struct session_result result = {.rate = rate_of(t, p)};
	struct session_ask ask = {
		.tenant = c->caller.tenant,
		.service = t->service,
		.type = t->type,
		.origin = SESSION_UPLOAD,
		.ordinal = SESSION_ALL_ORDINALS,
		.labels = "{}",
		.created_by = c->caller.id,
	};
	int rc = find_host(c, t, p, &d);

	if (rc)
		return fail_store(c, rc);
	rc = derive(t, p, &d);
	if (rc)
		return refuse_underived(c, rc);
	taken_times(t, p, &ask.started_ms, &result.duration_ms);
	if (ask.started_ms)
		ask.completed_ms = ask.started_ms + result.duration_ms;
	ask.seconds = result.duration_ms / MS_PER_S;
	ask.rate = llround(result.rate);
	result.sample_count = d.samples;
	result.top_functions = buf_str(&d.top);
	result.quality = buf_str(&d.quality);
	return call_go_on(c) ? -1 : store_all(c, &ask, &result, &d, out);
}
