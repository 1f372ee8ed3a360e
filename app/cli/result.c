#include "result.h"

#include "base/quantity.h"
#include "table.h"
#include "text.h"
#include "top.h"

void
profile_path(struct buf *out, const char *id)
{
	buf_puts(out, PROFILES "/");
	url_escape(out, id);
}

void
graph_path(struct buf *out, const char *id)
{
	profile_path(out, id);
	buf_puts(out, "/flamegraph");
}

static int64_t
quality_number(const json_t *result, const char *name)
{
	const json_t *quality = json_object_get(result, "quality");

	return json_integer_value(json_object_get(quality, name));
}

int
session_top(struct cli *c, const json_t *result, struct buf *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *graph = NULL;
	int64_t most = quality_number(result, "allocatedMostBytes");
	int rc;

	graph_path(&path, json_member(result, "id"));
	graph = top_graph(c, result, buf_str(&path));
	rc = top_of(c, result, buf_str(&path), graph, out);
	if (rc || !graph)
		return rc;
	buf_puts(out, "total: ");
	quantity(out, json_integer_value(json_object_get(graph, "total")),
	         json_member(graph, "unit"));
	if (most) {
		buf_puts(out, " (at least ");
		quantity(out, quality_number(result, "allocatedLeastBytes"),
		         json_member(graph, "unit"));
		buf_puts(out, ", at most ");
		quantity(out, most, json_member(graph, "unit"));
		buf_putc(out, ')');
	}
	buf_putc(out, '\n');
	return LEAVE_OK;
}
