/*
 * GET diff: two profiles or ranges as one differential flame graph.
 */
#include "compare_call.h"
#include "endpoint/call/accept.h"
#include "endpoint/profile/view.h"

#include "base/hash.h"
#include "base/version.h"
#include "profile/diff.h"

#include <stdio.h>
#include <string.h>

static const struct diff_format *
format_of(const struct call *c)
{
	const char *name = param_given(c, P_GetDiffFlameGraph_format)
	                           ? param_text(c, P_GetDiffFlameGraph_format)
	                           : accept_format(c->req->accept)->name;
	const struct diff_format *f = diff_format_find(name);

	return f ? f : &diff_formats[0];
}

static struct export_meta
meta_of(const struct session *s, const char *title)
{
	return (struct export_meta){
		.title = title,
		.id = s->id,
		.service = s->service,
		.type = s->type,
		.time_ms = s->started_ms,
		.duration_ms = s->duration_ms,
		.quality = s->quality,
	};
}

/* Limit of nodes in a page: more would take a browser seconds, and this process
 * the memory of both trees and their union. */
#define PICTURE_NODES (1u << 19)
#define LEFT_OUT_MAX  64

/* Folded stacks are for programs, which get all of them. */
static uint32_t
nodes_of(const struct diff_format *f)
{
	return strcmp(f->name, "folded") ? PICTURE_NODES : TREE_MAX_NODES;
}

static int
render(struct call *c, const struct compared *x, const struct diff_format *f,
       int64_t left_out)
{
	CLEANUP_DIFF struct diff *d = NULL;
	char title[2 * STORE_NAME_MAX + 2 * ID_MAX + LEFT_OUT_MAX];
	const struct diff_meta meta = {
		.base = meta_of(&x->base, title),
		.now = meta_of(&x->now, title),
		.c = x->c,
		.shape = (enum diff_shape)compare_call_word(
			c, P_GetDiffFlameGraph_shape, diff_shapes, DIFF_AFTER),
	};
	int rc;

	snprintf(title, sizeof(title), "%s %s, %s against %s", x->now.service,
	         x->now.type, x->now.id, x->base.id);
	if (left_out)
		snprintf(title + strlen(title), LEFT_OUT_MAX,
		         " (parts below %.2g %% left out)",
		         (double)left_out * 100 /
		                 (double)x->stacks[1]->total[0]);
	rc = diff_new(&x->sides[0], &x->sides[1], x->c, &d);
	if (!rc && call_go_on(c))
		return -1;
	if (!rc)
		rc = f->write(d, &meta, &c->reply->body);
	return rc ? fail_store(c, rc) : 0;
}

/* Parameters that change the picture, except those of its sides. */
static const enum param shown_by[] = {
	P_GetDiffFlameGraph_normalize,
	P_GetDiffFlameGraph_shape,
	P_GetDiffFlameGraph_baseWork,
	P_GetDiffFlameGraph_comparisonWork,
};

/* True when the client has the result of this request already. */
static bool
known(struct call *c, const struct compared *x, const struct diff_format *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&text, "%s %s %llx %llx", x->base.id, x->now.id,
	         (unsigned long long)range_hash(&x->ranges[0]),
	         (unsigned long long)range_hash(&x->ranges[1]));
	compare_call_put_only(x, &text);
	for (size_t i = 0; i < ARRAY_LEN(shown_by); i++) {
		const char *v = request_query(c->req, params[shown_by[i]].name);

		buf_addf(&text, " %s", v ? v : "");
	}
	return !buf_err(&text) &&
	       answer_etag(c, "%016llx-%s-%s",
	                   (unsigned long long)hash_bytes(text.p, text.len),
	                   f->name, stoker_version);
}

/* Writes the inputs of the picture. False if it must not be kept: the other
 * captures of a baseline come and go. */
static bool
made_of(struct call *c, const struct compared *x, const struct diff_format *f,
        struct buf *out)
{
	if (param_given(c, P_GetDiffFlameGraph_baselineId))
		return false;
	compare_call_made_of(c, x, out);
	for (size_t i = 0; i < ARRAY_LEN(shown_by); i++) {
		const char *v = request_query(c->req, params[shown_by[i]].name);

		buf_addf(out, "%s\n", v ? v : "");
	}
	buf_addf(out, "%s\n", f->name);
	return true;
}

/* Finds the other captures for a link from CheckBaseline, which names the
 * baseline, so that its test is repeated. */
static int
find_others(struct call *c, struct compared *x)
{
	const char *id = param_text(c, P_GetDiffFlameGraph_baselineId);
	CLEANUP_BASELINE struct baseline b = {0};
	int rc;

	if (!param_given(c, P_GetDiffFlameGraph_baselineId))
		return 0;
	if (compare_call_baseline(c, id, &b))
		return -1;
	if (strcmp(b.session, x->base.id) != 0)
		return fail_param(c, "baselineId",
		                  "a baseline whose session is the base", id);
	rc = compared_others(x, &b);
	return rc ? compare_call_fail(c, rc) : 0;
}

int
flamediff_get(struct call *c)
{
	static const struct compare_sides sides =
		COMPARE_SIDES(GetDiffFlameGraph);
	CLEANUP_COMPARED struct compared x = {0};
	const struct diff_format *f = format_of(c);
	const struct format *as = format_find(f->name);
	int64_t left_out[2];
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_SMALL);
	bool keep, again; /* parts may have been added since */
	int rc;

	x.by = f->by;
	if (compare_call_test(c, COMPARE_TEST(GetDiffFlameGraph), &x) ||
	    compare_call_sides(c, &sides, &x))
		return c->reply->status == 204 ? 0 : -1;
	again = x.ranges[0].n || x.ranges[1].n ||
	        param_given(c, P_GetDiffFlameGraph_baselineId);
	view_headers(c, P_GetDiffFlameGraph_format,
	             again ? VIEW_CACHE_RANGE : VIEW_CACHE);
	reply_header(c->reply, "Content-Disposition",
	             "%s; filename=\"%s-%s-diff.%s\"", view_disposition(as),
	             x.now.service, x.now.type, as->extension);
	if (!param_given(c, P_GetDiffFlameGraph_baselineId) && known(c, &x, f))
		return answer_empty(c, 304);
	keep = made_of(c, &x, f, &of);
	if (keep && kept_find(c, &of)) {
		compare_call_warn(c, &x.base, &x.now);
		view_begin(c, as);
		return 0;
	}
	if (find_others(c, &x) || compare_call_run(c, &x))
		return -1;
	rc = compared_stacks(&x, nodes_of(f), left_out);
	if (rc)
		return compare_call_fail(c, rc);
	if (call_go_on(c))
		return -1;
	compared_nodes(&x);
	view_begin(c, as);
	if (render(c, &x, f,
	           left_out[0] > left_out[1] ? left_out[0] : left_out[1]))
		return -1;
	if (keep)
		kept_add(c, &of);
	return 0;
}
