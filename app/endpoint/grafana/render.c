/*
 * GET /pyroscope/render and render-diff: flame graphs as flamebearers, the
 * form that preceded the querier, and call graphs for Graphviz.
 *
 *   Source   pkg/querier/http.go and pkg/og/structs/flamebearer of
 *            github.com/grafana/pyroscope 2.2
 */
#include "connect.h"
#include "flame.h"
#include "ids.h"
#include "profile/export.h"
#include "profile/stored/wire.h"
#include "profile/tree.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DOT_NODES  (1u << 16) /* of the tree that a call graph is made of */
#define NS_SAMPLES INT64_C(1000000000)
#define RATE       100 /* sampleRate of values that are not times */

/* --- the question --------------------------------------------------------- */

/* A query parameter, and the range that goes with it. */
struct asked_rows {
	enum param query, from, until, nodes;
};

/* Makes the question of a query "TYPE{MATCHERS}". NULL: out of memory. */
static json_t *
make_question(const struct call *c, const struct asked_rows *rows)
{
	const char *query = param_text(c, rows->query);
	size_t n = strcspn(query, "{");

	return json_pack("{s:s%,s:s,s:I,s:I,s:I}", "profile_typeID", query, n,
	                 "label_selector", query[n] ? query + n : "{}", "start",
	                 (json_int_t)param_int(c, rows->from), "end",
	                 (json_int_t)param_int(c, rows->until), "max_nodes",
	                 (json_int_t)param_int(c, rows->nodes));
}

static int
read_side(struct call *c, const struct asked_rows *rows, json_t **asked,
          struct profile **out)
{
	*asked = make_question(c, rows);
	return *asked ? stacks_read(c, *asked, out) : fail_memory(c);
}

/* --- flamebearers --------------------------------------------------------- */

static void
put_level(struct buf *out, struct wire values)
{
	uint64_t v;

	json_open(out, NULL, '[');
	while (values.p < values.end && !wire_varint(&values, &v))
		json_put_int(out, NULL, (int64_t)v);
	json_close(out, ']');
}

static void
put_name(struct buf *out, struct wire name)
{
	if (out->p[out->len - 1] != '[')
		buf_putc(out, ',');
	json_escape(out, (const char *)name.p, (size_t)(name.end - name.p));
}

/* Writes a FlameGraph or FlameGraphDiff, whose fields have equal numbers, and
 * sets the totals of the sides of a difference. */
static void
put_graph(struct buf *out, const struct buf *graph, int64_t ticks[static 2])
{
	const uint8_t *p = (const uint8_t *)buf_str(graph);
	const struct wire all = {p, p + graph->len};
	struct wire w = all;
	struct wire_field f, level;
	int64_t total = 0, max_self = 0;

	json_open(out, "flamebearer", '{');
	json_open(out, "names", '[');
	while (wire_next(&w, &f) > 0)
		if (f.key == WIRE_KEY(F_FlameGraph_names, WIRE_BYTES))
			put_name(out, f.bytes);
	json_close(out, ']');
	json_open(out, "levels", '[');
	for (w = all; wire_next(&w, &f) > 0;) {
		if (f.key == WIRE_KEY(F_FlameGraph_levels, WIRE_BYTES) &&
		    wire_next(&f.bytes, &level) > 0)
			put_level(out, level.bytes);
		else if (f.key == WIRE_KEY(F_FlameGraph_total, WIRE_VARINT))
			total = (int64_t)f.value;
		else if (f.key == WIRE_KEY(F_FlameGraph_max_self, WIRE_VARINT))
			max_self = (int64_t)f.value;
		else if (f.key ==
		         WIRE_KEY(F_FlameGraphDiff_leftTicks, WIRE_VARINT))
			ticks[0] = (int64_t)f.value;
		else if (f.key ==
		         WIRE_KEY(F_FlameGraphDiff_rightTicks, WIRE_VARINT))
			ticks[1] = (int64_t)f.value;
	}
	json_close(out, ']');
	json_put_int(out, "numTicks", total);
	json_put_int(out, "maxSelf", max_self);
	json_close(out, '}');
}

/* CPU time counts as samples of 1 ns each; other values keep their unit. */
static void
put_metadata(struct buf *out, const char *format, const char *id)
{
	char sample[ID_PART_MAX], unit[ID_PART_MAX];
	bool cpu;

	profile_id_part(id, ID_SAMPLE, sample);
	profile_id_part(id, ID_UNIT, unit);
	cpu = !strcmp(sample, "cpu");
	json_open(out, "metadata", '{');
	json_put_text(out, "format", format);
	json_put_text(out, "spyName", "");
	json_put_int(out, "sampleRate", cpu ? NS_SAMPLES : RATE);
	json_put_text(out, "units",
	              cpu                      ? "samples"
	              : !strcmp(unit, "count") ? "objects"
	                                       : unit);
	json_put_text(out, "name", sample);
	json_close(out, '}');
}

static int
answer(struct call *c, const char *format, const json_t *asked,
       const struct buf *graph)
{
	struct buf *out = &c->reply->body;
	int64_t ticks[2] = {0, 0};

	if (buf_err(graph))
		return fail_store(c, buf_err(graph));
	out = answer_json(c);
	json_put_int(out, "version", 1);
	put_graph(out, graph, ticks);
	put_metadata(out, format, asked_text(asked, "profile_typeID"));
	json_put_null(out, "timeline");
	json_put_null(out, "groups");
	if (!strcmp(format, "double")) {
		json_put_int(out, "leftTicks", ticks[0]);
		json_put_int(out, "rightTicks", ticks[1]);
	}
	return answer_end(c);
}

/* --- calls ---------------------------------------------------------------- */

static int
answer_dot(struct call *c, const struct profile *p, const char *id)
{
	const struct format *dot = format_find("dot");
	const struct export_meta meta = {
		.title = id, .id = "", .service = "", .type = ""};
	CLEANUP_TREE struct tree *functions = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	struct buf *out = &c->reply->body;
	int64_t left_out;
	int rc = tree_functions(p, profile_type_index(p, NULL), &functions)
	                 ?: tree_visible(functions, DOT_NODES, &t, &left_out);

	buf_clear(out);
	rc = rc ?: dot->write(t, &meta, out);
	if (rc)
		return fail_store(c, rc);
	c->reply->status = c->route->status;
	c->reply->content_type = dot->content_type;
	c->reply->is_json = false;
	return 0;
}

int
grafana_render(struct call *c)
{
	static const struct asked_rows rows = {
		P_GrafanaRender_query, P_GrafanaRender_from,
		P_GrafanaRender_until, P_GrafanaRender_maxNodes};
	const char *format = param_text(c, P_GrafanaRender_format);
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf graph = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	if (strcmp(format, "json") && strcmp(format, "dot"))
		return fail_param(c, "format", "json or dot", format);
	if (read_side(c, &rows, &asked, &p))
		return -1;
	if (!strcmp(format, "dot"))
		return answer_dot(c, p, asked_text(asked, "profile_typeID"));
	rc = flame_put(p, stacks_nodes(asked), &graph);
	return rc ? fail_store(c, rc) : answer(c, "single", asked, &graph);
}

int
grafana_render_diff(struct call *c)
{
	static const struct asked_rows left = {P_GrafanaRenderDiff_leftQuery,
	                                       P_GrafanaRenderDiff_leftFrom,
	                                       P_GrafanaRenderDiff_leftUntil,
	                                       P_GrafanaRenderDiff_maxNodes},
				       right = {P_GrafanaRenderDiff_rightQuery,
	                                        P_GrafanaRenderDiff_rightFrom,
	                                        P_GrafanaRenderDiff_rightUntil,
	                                        P_GrafanaRenderDiff_maxNodes};
	CLEANUP_JSON json_t *one = NULL;
	CLEANUP_JSON json_t *two = NULL;
	CLEANUP_PROFILE struct profile *base = NULL;
	CLEANUP_PROFILE struct profile *now = NULL;
	CLEANUP_BUF struct buf graph = BUF_INIT(BUF_MAX_REPLY);
	int rc;

	if (read_side(c, &left, &one, &base) ||
	    read_side(c, &right, &two, &now))
		return -1;
	if (strcmp(asked_text(one, "profile_typeID"),
	           asked_text(two, "profile_typeID")) != 0)
		return fail_param(c, "rightQuery", "the type of leftQuery",
		                  asked_text(two, "profile_typeID"));
	rc = flame_put_diff((const struct profile *[]){base, now},
	                    stacks_nodes(one), &graph);
	return rc ? fail_store(c, rc) : answer(c, "double", one, &graph);
}
