#include "compare/compared.h"

#include "base/clock.h"
#include "base/file.h"
#include "beside.h"
#include "profile/types.h"
#include "range/stored.h"
#include "since.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
compared_done(struct compared *x)
{
	beside_free(x->beside);
	comparison_free(x->c);
	for (size_t i = 0; i < ARRAY_LEN(x->trees); i++) {
		blocks_free(x->blocks[i]);
		blocks_free(x->nodes[i]);
		tree_free(x->trees[i]);
		tree_free(x->stacks[i]);
		profile_free(x->profiles[i]);
		range_done(&x->ranges[i]);
	}
	for (size_t i = 0; i < x->nothers; i++) {
		tree_free(x->others[i]);
		profile_free(x->other_profiles[i]);
	}
	session_done(&x->base);
	session_done(&x->now);
}

/* Returns 0 while a client waits for the result, and time is left. */
static int
go_on(const struct compared *x)
{
	if (x->peer && fd_hung_up(*x->peer))
		return -ECANCELED;
	return x->end_ns && clock_mono_ns() >= x->end_ns ? -ETIME : 0;
}

/* --- sides ---------------------------------------------------------------- */

/* Source: ISO 8601, 4.4.2: interval */
static int
name_range(const struct range *r, struct session *out)
{
	char from[RFC3339_LEN], to[RFC3339_LEN], name[2 * RFC3339_LEN];

	clock_format(r->from_ms, from);
	clock_format(r->to_ms, to);
	snprintf(name, sizeof(name), "%s/%s", from, to);
	out->id = strdup(name);
	out->service = strdup(r->service);
	out->type = strdup(r->type);
	out->started_ms = r->parts[0].span.start_ms;
	out->duration_ms = (int64_t)r->covered_ms;
	return out->id && out->service && out->type ? 0 : -ENOMEM;
}

int
compared_name_ranges(struct compared *x)
{
	struct session *of[] = {&x->base, &x->now};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(of) && !rc; i++)
		if (x->ranges[i].n)
			rc = name_range(&x->ranges[i], of[i]);
	return rc;
}

static double
seconds_of(const struct session *s, const struct profile *p)
{
	return p->duration_ns > 0 ? (double)p->duration_ns / (double)NS_PER_S
	                          : (double)s->duration_ms / (double)MS_PER_S;
}

static void
add(struct compared *x, size_t side)
{
	x->sides[side].tree = x->trees[side];
	x->sides[side].seconds =
		seconds_of(side ? &x->now : &x->base, x->profiles[side]);
}

int
compared_add(struct compared *x, size_t side, struct profile *p)
{
	int rc;

	x->profiles[side] = p;
	rc = go_on(x) ?: beside_pick(&x->only, p, &x->trees[side]);
	if (!rc)
		add(x, side);
	return rc;
}

void
compared_begin(struct compared *x)
{
	if (!x->ranges[0].n && !x->ranges[1].n)
		x->beside = beside_new(x);
}

bool
compared_ready(struct compared *x)
{
	if (!x->beside ||
	    !beside_take(x->beside, &x->profiles[1], &x->trees[1]))
		return false;
	add(x, 1);
	return true;
}

/* --- other captures of the base ------------------------------------------- */

static int
add_other(struct compared *x, const char *session)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	int rc;

	if (x->nothers == COMPARED_OTHERS ||
	    stored_profile(x->store, session, &p, &why))
		return 0; /* expired, or unreadable */
	if (profile_is_rough(p))
		return 0; /* its sum varies with the machine's load */
	rc = beside_pick(&x->only, p, &x->others[x->nothers]);
	if (!rc)
		x->other_profiles[x->nothers++] = TAKE(p);
	return rc;
}

/* True for the session of a side, or of an earlier baseline of the list. */
static bool
is_known(const struct compared *x, const struct baseline_list *list, size_t n)
{
	const char *id = list->items[n].session;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(list->items[i].session, id))
			return true;
	return !strcmp(x->base.id, id) || !strcmp(x->now.id, id);
}

int
compared_others(struct compared *x, const struct baseline *b)
{
	CLEANUP_BASELINES struct baseline_list list = {0};
	const struct baseline_filter same = {
		.tenant = b->tenant,
		.service = b->service,
		.type = b->type,
		.label = b->label,
		.tag = "",
	};
	int rc = baseline_list(x->store, &same,
	                       (struct page){COMPARED_OTHERS + 1, ""}, &list);

	for (size_t i = 0; i < list.n && !rc; i++)
		if (!is_known(x, &list, i))
			rc = add_other(x, list.items[i].session);
	return rc;
}

/* --- blocks and trees ----------------------------------------------------- */

/*
 * Finds blocks for both sides, or for neither: if one side is a capture without
 * a timeline, or with one that is too short, no blocks are used. Blocks are of
 * all samples.
 */
static void
find_blocks(const struct compared *x, enum blocks_what what,
            struct blocks *out[static 2])
{
	const struct session *of[] = {&x->base, &x->now};

	for (size_t i = 0;
	     i < ARRAY_LEN(of) && (!i || out[0]) && !x->only.nlabels; i++) {
		const struct tree *t = what == BLOCKS_OF_NODES ? x->stacks[i]
		                                               : x->trees[i];
		const char *id = of[i]->id;

		out[i] = x->ranges[i].n ? range_blocks(&x->ranges[i], t, what)
		         : window_is(id)
		                 ? range_window_blocks(x->store, x->tenant, id,
		                                       t, what)
		                 : stored_blocks(x->store, id, t, what);
	}
}

int
compared_stacks(struct compared *x, uint32_t most, int64_t left_out[static 2])
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(x->stacks) && !rc; i++) {
		rc = go_on(x)
		             ?: tree_visible(x->trees[i], most, &x->stacks[i],
		                             &left_out[i]);
		if (!rc)
			x->sides[i].tree = x->stacks[i];
	}
	return rc;
}

static void
measure_nodes(struct compared *x)
{
	find_blocks(x, BLOCKS_OF_NODES, x->nodes);
	x->sides[0].nodes = x->nodes[0];
	x->sides[1].nodes = x->nodes[1];
}

/* If no function is listed, no node is sure. */
void
compared_nodes(struct compared *x)
{
	if (x->c->method == COMPARE_FROM_BLOCKS &&
	    x->c->nregressions + x->c->nimprovements + x->c->nrisen > 0)
		measure_nodes(x);
}

/* --- the comparison ------------------------------------------------------- */

/* Nodes of the trees on which totals are measured; smaller nodes decide
 * nothing. */
#define TOTALS_NODES (1u << 16)

/* Finds functions that cost more, callees included. Frees the trees afterwards,
 * since a picture may need more nodes. */
static int
find_totals(struct compared *x)
{
	int64_t left_out[2];
	int rc = compared_stacks(x, TOTALS_NODES, left_out);

	if (!rc && x->c->method == COMPARE_FROM_BLOCKS)
		measure_nodes(x);
	if (!rc)
		rc = compare_totals(x->c, &x->sides[0], &x->sides[1]);
	for (size_t i = 0; i < ARRAY_LEN(x->sides); i++) {
		blocks_free(TAKE(x->nodes[i]));
		tree_free(TAKE(x->stacks[i]));
		x->sides[i].nodes = NULL;
		x->sides[i].tree = x->trees[i];
	}
	return rc;
}

int
compared_run(struct compared *x)
{
	int rc = go_on(x);

	if (rc)
		return rc;
	find_blocks(x, BLOCKS_OF_FUNCTIONS, x->blocks);
	x->sides[0].blocks = x->blocks[0];
	x->sides[1].blocks = x->blocks[1];
	x->sides[0].others = (const struct tree *const *)x->others;
	x->sides[0].nothers = x->nothers;
	rc = compare_new(&x->sides[0], &x->sides[1],
	                 type_is_gauge(x->base.type), x->by, &x->c);
	if (!rc && compare_totals_decide(x->c))
		rc = find_totals(x);
	/* shifts are of all samples, and of one side */
	if (!rc && !x->only.nlabels && !x->against_others)
		since_find(x);
	return rc;
}
