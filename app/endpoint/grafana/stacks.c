/* Calls that answer with stacks: flame graphs, and profiles for pprof. */
#include "stacks.h"

#include "chosen.h"
#include "flame.h"
#include "profile/pprof.h"
#include "profile/stored/wire.h"
#include "profile/tree.h"
#include "question.h"
#include "sandwich.h"

#include <errno.h>
#include <string.h>

#define NODES_USUAL 8192
#define NODES_MAX   (1 << 20)

uint32_t
stacks_nodes(const json_t *asked)
{
	int64_t n = asked_int(asked, "max_nodes");

	return n <= 0 ? NODES_USUAL : n > NODES_MAX ? NODES_MAX : (uint32_t)n;
}

static int
put_graph(const struct profile *p, uint32_t most, struct buf *out)
{
	size_t place =
		wire_open(out, F_SelectMergeStacktracesResponse_flamegraph);
	int rc = flame_put(p, most, out);

	wire_close(out, place);
	return rc;
}

/* Makes the profile of a question that nothing answers. */
static int
no_profile(const struct question *q, struct profile **out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	int rc = !p        ? -ENOMEM
	         : q->type ? type_values(q->type, p)
	                   : profile_type(p, "samples", "count");

	if (rc)
		return fail_store(q->c, rc);
	*out = TAKE(p);
	return 0;
}

int
stacks_read(struct call *c, const json_t *asked, struct profile **out)
{
	CLEANUP_QUESTION struct question q = {0};
	CLEANUP_CHOSEN struct chosen chosen = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc;

	if (question_read(c, asked, &q) || chosen_read(c, asked, &chosen) ||
	    question_merge(&q, &p))
		return -1;
	if (!p)
		return no_profile(&q, out);
	rc = sift_is_any(&chosen.sift) ? sift_profile(p, &chosen.sift) : 0;
	if (rc)
		return fail_store(c, rc);
	*out = TAKE(p);
	return 0;
}

/* --- functions ------------------------------------------------------------ */

static void
put_function(struct buf *out, const struct tree *t, const struct top_entry *f)
{
	size_t place = wire_open(out, F_FunctionTable_functions), n;
	const char *name = tree_name(t, f->name, &n);

	wire_put_bytes(out, F_FunctionRow_name, name, n);
	wire_put_number(out, F_FunctionRow_self, (uint64_t)f->self);
	wire_put_number(out, F_FunctionRow_total, (uint64_t)f->total);
	wire_close(out, place);
}

/* Writes the functions with the largest self cost. */
static int
put_functions(const struct profile *p, uint32_t most, struct buf *out)
{
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_FREE struct top_entry *top = NULL;
	uint32_t n = 0;
	size_t place =
		wire_open(out, F_SelectMergeStacktracesResponse_functions);
	int rc = tree_functions(p, profile_type_index(p, NULL), &t)
	                 ?: tree_top(t, 0, &top, &n);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < n && i < most; i++)
		put_function(out, t, &top[i]);
	wire_put_number(out, F_FunctionTable_total, (uint64_t)t->total[0]);
	wire_put_number(out, F_FunctionTable_total_functions, n);
	wire_close(out, place);
	return buf_err(out);
}

/* --- calls ---------------------------------------------------------------- */

/* Answers in JSON only: no release of the protocol numbers these fields. */
static int
answer_sandwich(struct call *c, const json_t *asked, const struct profile *p)
{
	struct buf *out = &c->reply->body;
	int rc;

	buf_clear(out);
	rc = sandwich_put(p, asked_text(asked, "sandwich_function"),
	                  stacks_nodes(asked), out);
	return rc ? fail_store(c, rc) : connect_answer_json(c);
}

static bool
is_served(struct call *c, int64_t format)
{
	return format <= PROFILE_FORMAT_FLAMEGRAPH ||
	       format == PROFILE_FORMAT_FUNCTIONS ||
	       (format == PROFILE_FORMAT_SANDWICH && connect_is_json(c));
}

static int
answer_stacks(struct call *c, enum message request)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int64_t format;
	int rc;

	if (connect_read(c, request, &asked))
		return -1;
	format = asked_int(asked, "format");
	if (!is_served(c, format))
		return fail(c, CallNotServed, "this format");
	if (format == PROFILE_FORMAT_SANDWICH &&
	    !*asked_text(asked, "sandwich_function"))
		return fail(c, InvalidMessage,
		            "sandwich_function must name a function");
	if (stacks_read(c, asked, &p))
		return -1;
	if (format == PROFILE_FORMAT_SANDWICH)
		return answer_sandwich(c, asked, p);
	rc = format == PROFILE_FORMAT_FUNCTIONS
	             ? put_functions(p, stacks_nodes(asked), &out)
	             : put_graph(p, stacks_nodes(asked), &out);
	return rc ? fail_store(c, rc)
	          : connect_answer(c, M_SelectMergeStacktracesResponse, &out);
}

int
grafana_flame(struct call *c)
{
	return answer_stacks(c, M_SelectMergeStacktracesRequest);
}

/* Older releases of Grafana make this call for span_selector. */
int
grafana_spans(struct call *c)
{
	return answer_stacks(c, M_SelectMergeSpanProfileRequest);
}

int
grafana_pprof(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	if (connect_read(c, M_SelectMergeProfileRequest, &asked) ||
	    stacks_read(c, asked, &p))
		return -1;
	pprof_write(p, &out);
	return connect_answer(c, M_Profile, &out);
}

int
grafana_diff(struct call *c)
{
	static const char *const names[] = {"left", "right"};
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_PROFILE struct profile *left = NULL;
	CLEANUP_PROFILE struct profile *right = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const json_t *sides[2];
	size_t place;
	int rc;

	if (connect_read(c, M_DiffRequest, &asked))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		sides[i] = json_object_get(asked, names[i]);
		if (asked_int(sides[i], "format") > PROFILE_FORMAT_FLAMEGRAPH)
			return fail(c, CallNotServed, "this format");
	}
	if (strcmp(asked_text(sides[0], "profile_typeID"),
	           asked_text(sides[1], "profile_typeID")) != 0)
		return fail(c, InvalidMessage,
		            "both sides must be of one profile_typeID");
	if (stacks_read(c, sides[0], &left) || stacks_read(c, sides[1], &right))
		return -1;
	place = wire_open(&out, F_DiffResponse_flamegraph);
	rc = flame_put_diff((const struct profile *[]){left, right},
	                    stacks_nodes(sides[0]), &out);
	wire_close(&out, place);
	return rc ? fail_store(c, rc) : connect_answer(c, M_DiffResponse, &out);
}
