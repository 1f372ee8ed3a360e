#include "range_call.h"

#include "base/clock.h"
#include "endpoint/profile/host_clocks.h"
#include "endpoint/profile/profile_json.h"

#include "profile/profile.h"
#include "profile/types.h"

#include <errno.h>
#include <string.h>

#define PACKED_GROWS 4 /* parts are packed and compressed: about */

struct range
range_asked(struct call *c, const struct range_rows *rows)
{
	struct range r = {
		.store = &c->env->store,
		.tenant = c->caller.tenant,
		.service = param_text(c, rows->service),
		.type = param_text(c, rows->type),
		.host = param_text(c, rows->host),
		.from_ms = param_int(c, rows->from),
		.to_ms = param_int(c, rows->to),
		.end_ns = c->end_ns,
		.peer = &c->req->peer_fd,
	};
	struct query_pair q;

	while (r.nlabels < RANGE_MAX_LABELS &&
	       param_match(c, rows->label, r.nlabels, &q))
		r.labels[r.nlabels++] = (struct range_label){q.name, q.value};
	return r;
}

int
range_check(struct call *c, const struct range *r)
{
	char to[RFC3339_LEN];

	if (r->from_ms > r->to_ms) {
		clock_format(r->to_ms, to);
		return fail_param(c, "from", "a time not after to", to);
	}
	return call_service(c, r->service, NULL);
}

bool
range_asks_ids(const struct sift *by)
{
	for (uint32_t i = 0; i < by->nlabels; i++)
		if (profile_label_is_id(by->labels[i].key))
			return true;
	return false;
}

static int
too_many_series(struct call *c, const struct range *r)
{
	detail_text(c, "service", r->service);
	detail_int(c, "maxSeries", RANGE_MAX_SERIES);
	return fail(c, TooManySeries, r->service, RANGE_MAX_SERIES);
}

static int
too_large(struct call *c, const struct range_excess *e)
{
	char fits[RFC3339_LEN];

	clock_format(e->fits_ms, fits);
	detail_int(c, "windows", e->parts);
	detail_int(c, "bytes", e->bytes);
	detail_int(c, "maxWindows", RANGE_MAX_PARTS);
	detail_int(c, "maxBytes", RANGE_MAX_STORED);
	detail_text(c, "fitsFrom", fits);
	return fail(c, RangeTooLarge, fits);
}

static int
nothing(struct call *c, const struct range *r)
{
	char from[RFC3339_LEN], to[RFC3339_LEN];

	if (param_int(c, P_MergeProfiles_optional) ||
	    param_int(c, P_GetDiffFlameGraph_optional))
		return answer_empty(c, 204);
	clock_format(r->from_ms, from);
	clock_format(r->to_ms, to);
	detail_text(c, "service", r->service);
	detail_text(c, "profileType", r->type);
	detail_text(c, "from", from);
	detail_text(c, "to", to);
	return fail(c, EmptyRange, r->type, r->service);
}

static void
put_left(const struct range_left *left, struct buf *out)
{
	size_t named = left->n < RANGE_LEFT_NAMED ? left->n : RANGE_LEFT_NAMED;

	for (size_t i = 0; i < named; i++)
		buf_addf(out, "%s%s", i ? ", " : "", left->ids[i]);
	if (left->n > named)
		buf_addf(out, " and %zu others", left->n - named);
}

void
range_put_unfit(const struct range *r, struct buf *out)
{
	const struct type *t = type_find(r->type);

	put_left(&r->unfit, out);
	buf_addf(out, ": no %s/%s values", t->sample, t->unit);
}

void
range_put_lost(const struct range *r, struct buf *out)
{
	buf_puts(out, "profiles are left out, since their bytes are missing or "
	              "damaged: ");
	put_left(&r->lost, out);
	buf_puts(out, "; stoker verify on the server reports what else is "
	              "damaged, and how to repair it");
}

/* True if a part of the range comes from this host. */
static bool
is_of_host(const void *arg, const char *host)
{
	const struct range *r = arg;

	for (size_t i = 0; i < r->n; i++) {
		const struct series *s = r->parts[i].series;

		if (s && host_clocks_has(s, host))
			return true;
	}
	return false;
}

void
range_put_notices(const struct range *r, struct buf *out)
{
	CLEANUP_BUF struct buf lost = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf unfit = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf clocks = BUF_INIT(BUF_MAX_SMALL);

	range_put_lost(r, &lost);
	buf_puts(&unfit, "left out, since they cannot be added up: ");
	range_put_unfit(r, &unfit);
	if (r->lost.n)
		json_put_text(out, NULL, buf_str(&lost));
	if (r->unfit.n)
		json_put_text(out, NULL, buf_str(&unfit));
	host_clocks_note(r->store, r->tenant, is_of_host, r, &clocks);
	if (clocks.len)
		json_put_text(out, NULL, buf_str(&clocks));
}

void
range_note_lost(struct call *c, const struct range *r)
{
	if (!r->lost.n)
		return;
	c->reply->etag[0] = '\0';
	if (!c->reply->cause.len)
		range_put_lost(r, &c->reply->cause);
}

static int
differ(struct call *c, const struct range *r)
{
	CLEANUP_BUF struct buf unfit = BUF_INIT(BUF_MAX_SMALL);

	range_put_unfit(r, &unfit);
	detail_text(c, "profiles", buf_str(&unfit));
	return fail(c, ProfilesDiffer);
}

int
range_fail(struct call *c, const struct range *r, int rc, const struct buf *why)
{
	switch (rc) {
	case -EUSERS:
		return too_many_series(c, r);
	case -EFBIG:
		return too_large(c, &r->excess);
	case -ENODATA:
		return nothing(c, r);
	case -EINVAL:
		return differ(c, r);
	case -E2BIG:
	case -ETIME:
		return fail(c, RangeTooExpensive);
	case -ENOMEM:
		return fail_memory(c);
	case -ECANCELED:
		return call_go_on(c) ?: fail(c, BadRequest);
	case -EBADMSG:
		buf_addf(&c->reply->cause, "profiles of a range: %s",
		         why ? buf_str(why) : "");
		return fail(c, ProfileDamaged, "the range");
	default:
		return fail_store(c, rc);
	}
}

int
range_reads(struct call *c, const struct range *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += (uint64_t)r->parts[i].length * PACKED_GROWS;
	return call_reads(c, sum);
}

int
range_merged(struct call *c, struct range *r, struct profile **out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	if (range_reads(c, r))
		return -1;
	rc = range_merge(r, out, &why);
	if (rc)
		return range_fail(c, r, rc, &why);
	range_note_lost(c, r);
	return 0;
}

int
range_link(struct call *c, const char *page, const struct link_query *q,
           struct buf *out)
{
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	CLEANUP_BUF struct buf url = BUF_INIT(RANGE_MAX_LINK);
	const struct conf *conf = c->env->conf;
	struct link_page of = {
		.claim = {.kind = page, .tenant = c->caller.tenant},
	};

	link_subject(q, &subject);
	buf_addf(&url, "%s" PROFILE_PATH "%s?", conf->api_public_url, page);
	link_put_query(q, &url);
	if (buf_err(&subject) || buf_err(&url))
		return -E2BIG;
	of.claim.subject = buf_str(&subject);
	of.url = buf_str(&url);
	return link_make(&c->env->store, &c->env->links, &of, clock_wall_ms(),
	                 conf->api_link_ttl, out);
}
