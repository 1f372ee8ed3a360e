/* GET merge: all profiles of a range of time as one. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/version.h"
#include "endpoint/call/accept.h"
#include "endpoint/profile/profile_json.h"
#include "endpoint/profile/view.h"
#include "profile/summary.h"
#include "profile/types.h"
#include "range_call.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_GAPS 100
#define GAP_MS   1000 /* shorter gaps occur between any two windows */
#define NOTICE_BOTH                                                   \
	"windows of workers and pushed ones are added up: what both " \
	"saw counts twice"
#define NOTICE_LEFT_OUT                                               \
	"pushed windows are left out, since a worker captured some: " \
	"origin=pushed shows them, origin=all adds them"

#define NOTICE_QUOTA                                                       \
	"the processes could not run for a part of the time, since their " \
	"control group had used up its CPU quota: ms, summed over CPUs"
#define NOTICE_UNNAMED                                                      \
	"frames have no function name yet: a worker looks for files with "  \
	"their build-ids, and names appear once it finds some: push the "   \
	"program or its debug file (stoker debuginfo push FILE), install "  \
	"debug files on the worker's host, or set debuginfod in "           \
	"[symbols] of stoker.conf. To name frames without a build-id, run " \
	"stoker merge SERVICE --output FILE, then stoker symbolize FILE "   \
	"--binary PATH"
#define NOTICE_WANTED                                                    \
	"frames have no function name yet: a worker now looks for them " \
	"in a debug file that was pushed; ask again in some seconds"
#define QUOTA_MANY 20 /* a notice is due if more than one ms in this many */

/* --- what it is made of --------------------------------------------------- */

struct gaps {
	struct gap items[MAX_GAPS];
	size_t n; /* total number */
};

static int
find_gaps(const struct range *r, struct gaps *out)
{
	CLEANUP_FREE struct span *spans = calloc(r->n + 1, sizeof(*spans));
	const struct gap all = {r->from_ms, r->to_ms};

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		spans[i] = r->parts[i].span;
	return coverage_gaps(spans, r->n, &all, GAP_MS, out->items, MAX_GAPS,
	                     &out->n);
}

static void
put_gaps(struct buf *out, const struct gaps *gaps)
{
	json_put_int(out, "gapCount", (int64_t)gaps->n);
	json_open(out, "gaps", '[');
	for (size_t i = 0; i < gaps->n && i < MAX_GAPS; i++) {
		json_open(out, NULL, '{');
		json_put_time(out, "from", gaps->items[i].from_ms);
		json_put_time(out, "to", gaps->items[i].to_ms);
		json_close(out, '}');
	}
	json_close(out, ']');
}

static void
put_series(struct buf *out, const struct range *r)
{
	json_open(out, "series", '[');
	for (size_t i = 0; i < r->series.n; i++) {
		const struct series *s = &r->series.items[i];
		int64_t covered = 0;

		if (!r->plans[i].n || (r->left_out && range_is_pushed(s)))
			continue;
		for (size_t k = 0; k < r->n; k++)
			if (r->parts[k].series == s)
				covered += range_part_span(&r->parts[k])
				                   .covered_ms;
		json_open(out, NULL, '{');
		json_put_text(out, "host", s->host);
		json_put_raw(out, "labels", s->labels, "{}");
		json_put_int(out, "profiles", (int64_t)r->plans[i].n);
		json_put_real(out, "coveredSeconds",
		              (double)covered / (double)MS_PER_S);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* --- links ---------------------------------------------------------------- */

static size_t
link_pairs(struct call *c, const struct range *r, char times[2][24],
           struct query_pair *q)
{
	size_t n = 0;

	snprintf(times[0], 24, "%lld", (long long)r->from_ms);
	snprintf(times[1], 24, "%lld", (long long)r->to_ms);
	q[n++] = (struct query_pair){"service", r->service};
	q[n++] = (struct query_pair){"profileType", r->type};
	q[n++] = (struct query_pair){"from", times[0]};
	q[n++] = (struct query_pair){"to", times[1]};
	if (*r->host)
		q[n++] = (struct query_pair){"host", r->host};
	q[n++] = (struct query_pair){"origin", r->origin};
	for (size_t i = 0; i < c->req->nquery && n < REQUEST_MAX_QUERY; i++)
		if (!strncmp(c->req->query[i].name, "label.", 6) ||
		    !strncmp(c->req->query[i].name, "sample.", 7))
			q[n++] = c->req->query[i];
	return n;
}

static int
make_link(struct call *c, const struct range *r, struct buf *out)
{
	struct query_pair q[REQUEST_MAX_QUERY];
	char times[2][24];
	const struct link_query query = {q, link_pairs(c, r, times, q)};

	return range_link(c, "merge", &query, out);
}

static void
put_links(struct buf *out, const char *url)
{
	json_put_text(out, "flameGraphUrl", url);
	json_open(out, "links", '{');
	json_put_text(out, "self", url);
	buf_addf(out, ",\"flamegraph\":\"%s&format=html\"", url);
	buf_addf(out, ",\"pprof\":\"%s&format=pprof\"", url);
	buf_addf(out, ",\"folded\":\"%s&format=folded\"", url);
	json_close(out, '}');
}

/* --- the summary ---------------------------------------------------------- */

/* Returns the origin of the windows: "all", "captured" or "pushed"; "" for
 * sessions. */
static const char *
origin_of(const struct range *r)
{
	bool captured = false, pushed = false;

	for (size_t i = 0; i < r->n; i++) {
		const struct series *s = r->parts[i].series;

		captured |= s && !range_is_pushed(s);
		pushed |= s && range_is_pushed(s);
	}
	return captured && pushed ? "all"
	       : captured         ? "captured"
	       : pushed           ? "pushed"
	                          : "";
}

/* Returns the time that CPU quotas took from the processes of all windows. */
static int64_t
quota_ms(const struct range *r)
{
	int64_t ms = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->parts[i].window &&
		    __builtin_add_overflow(ms, r->parts[i].window->quota_ms,
		                           &ms))
			ms = INT64_MAX;
	return ms;
}

/* Writes a notice about frames that have no name: of pushed windows, or of
 * others if a pushed file may name them. */
static void
put_unnamed(struct buf *out, const struct range *r, const struct profile *p)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *origin = origin_of(r);
	uint32_t named;
	int rc;

	if (r->wanted) {
		buf_addf(&text, "%u " NOTICE_WANTED, r->wanted);
		json_put_text(out, NULL, buf_str(&text));
		return;
	}
	if (strcmp(origin, "pushed") && strcmp(origin, "all"))
		return;
	rc = profile_count_named(p, &named);
	if (rc)
		out->err = rc;
	if (rc || named >= p->nstack)
		return;
	buf_addf(&text, "%u of %u " NOTICE_UNNAMED, p->nstack - named,
	         p->nstack);
	json_put_text(out, NULL, buf_str(&text));
}

static void
put_notices(struct buf *out, const char *key, const struct range *r,
            const struct profile *p)
{
	int64_t lost = quota_ms(r);

	json_open(out, key, '[');
	put_unnamed(out, r, p);
	if (!strcmp(origin_of(r), "all"))
		json_put_text(out, NULL, NOTICE_BOTH);
	if (r->left_out)
		json_put_text(out, NULL, NOTICE_LEFT_OUT);
	if ((double)lost > r->covered_ms / QUOTA_MANY) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&text, NOTICE_QUOTA ": %lld", (long long)lost);
		json_put_text(out, NULL, buf_str(&text));
	}
	range_put_notices(r, out);
	json_close(out, ']');
}

/* Writes which windows of the range were used, and which were left out. */
static void
put_origin(struct buf *out, const struct range *r, const struct profile *p)
{
	json_put_text(out, "source", r->sessions.n ? "sessions" : "windows");
	json_put_text(out, "origin", origin_of(r));
	json_put_int(out, "leftOut", (int64_t)r->left_out);
	put_notices(out, "notices", r, p);
}

/* Counts samples for whose stack a full call tree had no room. */
static int64_t
truncated(const struct tree *t)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(tree_name(t, t->name[i], NULL), SUMMARY_TRUNCATED))
			n += t->samples[i];
	return n;
}

static void
put_totals(struct buf *out, const struct range *r, const struct tree *t)
{
	const struct profile *p = t->profile;
	double seconds = r->covered_ms / (double)MS_PER_S;
	int64_t windows = 0;

	for (size_t i = 0; i < r->n; i++)
		windows += r->parts[i].windows;
	json_put_text(out, "service", r->service);
	json_put_text(out, "profileType", r->type);
	put_origin(out, r, p);
	json_put_text(out, "aggregation",
	              type_is_gauge(r->type) ? "mean" : "sum");
	json_put_time(out, "from", r->from_ms);
	json_put_time(out, "to", r->to_ms);
	json_put_time(out, "firstAt", r->parts[0].span.start_ms);
	json_put_real(out, "coveredSeconds", seconds);
	json_put_int(out, "profiles", (int64_t)r->n);
	json_put_int(out, "windows", windows);
	json_put_int(out, "sampleCount", t->total_samples);
	json_put_int(out, "truncatedSamples", truncated(t));
	json_put_int(out, "quotaLostMs", quota_ms(r));
	json_put_int(out, "total", t->total[0]);
	json_put_text(out, "unit", profile_text(p, p->types[t->type].unit));
	json_put_real(out, "totalPerSecond",
	              type_is_gauge(r->type) || seconds <= 0
	                      ? 0
	                      : (double)t->total[0] / seconds);
}

static int
answer_summary(struct call *c, const struct range *r, const struct profile *p)
{
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf top = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf url = BUF_INIT(RANGE_MAX_LINK);
	struct gaps gaps = {0};
	struct buf *out;
	int rc = tree_functions(p, profile_type_index(p, NULL), &t)
	                 ?: find_gaps(r, &gaps);

	if (!rc)
		rc = summary_top(t, (uint32_t)param_int(c, P_MergeProfiles_top),
		                 &top);
	if (!rc)
		rc = make_link(c, r, &url);
	if (rc == -E2BIG)
		return fail(c, RangeTooExpensive);
	if (rc)
		return fail_store(c, rc);
	out = answer_json(c);
	put_totals(out, r, t);
	put_series(out, r);
	put_gaps(out, &gaps);
	json_put_raw(out, "topFunctions", buf_str(&top), "[]");
	put_links(out, buf_str(&url));
	return answer_end(c);
}

/* --- the reply ------------------------------------------------------------ */

/* Returns the requested format, NULL for the summary. Browsers accept
 * text/html; curl names nothing. */
static const struct format *
wanted(struct call *c)
{
	const char *accept = c->req->accept;
	const struct format *f;

	if (param_given(c, P_MergeProfiles_format))
		return format_find(param_text(c, P_MergeProfiles_format));
	f = accept_format(accept);
	if (!*accept || accept_quality(accept, "application/json") >=
	                        accept_quality(accept, f->content_type))
		return NULL;
	return f;
}

static bool
is_known(struct call *c, const struct range *r, const struct format *f,
         const struct view_of *of)
{
	unsigned long long parts = range_hash(r);

	if (f)
		return answer_etag(c, "%016llx-%s-%s-%08x", parts, f->name,
		                   stoker_version, view_hash(of));
	return answer_etag(
		c, "%016llx-%llx-%llx-%llx-%s-%08x", parts,
		(unsigned long long)r->from_ms, (unsigned long long)r->to_ms,
		(unsigned long long)param_int(c, P_MergeProfiles_top),
		stoker_version, view_hash(of));
}

/* Describes a range as a session for views, and writes its report to
 * quality. */
static struct session
shown_as(const struct range *r, const struct profile *p, struct buf *quality)
{
	json_open(quality, NULL, '{');
	put_notices(quality, "notes", r, p);
	json_close(quality, '}');
	return (struct session){
		.id = "merge",
		.service = (char *)r->service,
		.type = (char *)r->type,
		.started_ms = r->parts[0].span.start_ms,
		.duration_ms = (int64_t)r->covered_ms,
		.quality = (char *)buf_str(quality),
	};
}

/* Keeps the samples with the requested labels, for a summary. */
static int
pick(struct call *c, const struct view_of *of, struct profile *p)
{
	struct sift by = {.nlabels = of->sift.nlabels};
	int rc;

	memcpy(by.labels, of->sift.labels, sizeof(by.labels));
	rc = by.nlabels ? sift_profile(p, &by) : 0;
	return rc ? fail_store(c, rc) : 0;
}

int
merge_get(struct call *c)
{
	CLEANUP_RANGE struct range r =
		range_asked(c, RANGE_ROWS(MergeProfiles));
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	const struct format *f = wanted(c);
	const struct view_of of = view_asked(c, VIEW_ROWS(MergeProfiles));
	struct session shown;
	int rc;

	if (f && f->use == FORMAT_LISTED && call_is_link(c))
		return fail(c, Forbidden, "viewer");
	r.origin = param_text(c, P_MergeProfiles_origin);
	r.with_ids = range_asks_ids(&of.sift);
	if (range_check(c, &r))
		return -1;
	rc = range_plan(&r);
	if (rc)
		return range_fail(c, &r, rc, NULL);
	view_headers(c, P_MergeProfiles_format, VIEW_CACHE_RANGE);
	if (f)
		reply_header(c->reply, "Content-Disposition",
		             "%s; filename=\"%s-%s-merge.%s\"",
		             view_disposition(f), r.service, r.type,
		             f->extension);
	/* later captures may add the text */
	if ((!f || f->use != FORMAT_LISTED) && is_known(c, &r, f, &of))
		return answer_empty(c, 304);
	rc = range_merged(c, &r, &p);
	if (rc || !p)
		return rc;
	if (!f)
		return pick(c, &of, p) ?: answer_summary(c, &r, p);
	shown = shown_as(&r, p, &quality);
	view_begin(c, f);
	return view_profile(c, &shown, f, &of, p);
}
