/* What is the same for all threads: meta, and the files of the code. */
#include "base/json_out.h"
#include "firefox_document.h"

#include <string.h>

#define GECKO_VERSION 29 /* of the raw format; not looked at */
#define UUID_BYTES    16

/* --- meta ----------------------------------------------------------------- */

static void
put_categories(struct buf *b)
{
	static const char *const rows[][2] = {
		{"Other", "grey"},
		{"User", "yellow"},
		{"Kernel", "orange"},
		{"Blocked", "blue"},
	};

	json_open(b, "categories", '[');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_open(b, NULL, '{');
		json_put_text(b, "name", rows[i][0]);
		json_put_text(b, "color", rows[i][1]);
		json_open(b, "subcategories", '[');
		json_put_text(b, NULL, "Other");
		json_close(b, ']');
		json_close(b, '}');
	}
	json_close(b, ']');
}

static void
put_marker_schema(struct buf *b)
{
	buf_puts(b, ",\"markerSchema\":[{\"name\":\"" FX_MARKER "\","
	            "\"chartLabel\":\"{marker.data.text}\","
	            "\"tooltipLabel\":\"{marker.name}\","
	            "\"tableLabel\":\"{marker.data.text}\","
	            "\"display\":[\"marker-chart\",\"marker-table\","
	            "\"timeline-overview\"],"
	            "\"fields\":[{\"key\":\"text\",\"label\":\"Details\","
	            "\"format\":\"string\"}]}]");
}

/* Milliseconds between samples; 1 where nothing is known. */
static double
interval(const struct document *d)
{
	const struct profile *p = d->x.p;
	const char *unit = strings_get(p->strings, p->period_type.unit, NULL);

	if (d->t && d->t->period_ns)
		return (double)d->t->period_ns / 1e6;
	return p->period > 0 && !strcmp(unit, "nanoseconds")
	               ? (double)p->period / 1e6
	               : 1;
}

static double
start_ms(const struct document *d)
{
	return d->t ? (double)d->t->start_ns / 1e6 : (double)d->meta->time_ms;
}

void
fx_put_meta(const struct document *d)
{
	struct buf *b = d->x.out;

	json_open(b, "meta", '{');
	json_put_real(b, "interval", interval(d));
	json_put_real(b, "startTime", start_ms(d));
	json_put_int(b, "processType", 0);
	json_put_text(b, "product", d->meta->product);
	json_put_text(b, "importedFrom", "Stoker " STOKER_VERSION);
	if (*d->meta->oscpu)
		json_put_text(b, "oscpu", d->meta->oscpu);
	if (d->meta->cpus)
		json_put_int(b, "logicalCPUs", d->meta->cpus);
	json_put_int(b, "stackwalk", 1);
	json_put_bool(b, "debug", false);
	json_put_int(b, "version", GECKO_VERSION);
	json_put_int(b, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_put_bool(b, "symbolicated", true);
	json_put_bool(b, "usesOnlyOneStackType", true);
	json_put_bool(b, "doesNotUseFrameImplementation", true);
	json_put_bool(b, "sourceCodeIsNotOnSearchfox", true);
	buf_puts(b, ",\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],"
	            "\"name\":[]},\"sampleUnits\":{\"time\":\"ms\","
	            "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\"}");
	put_categories(b);
	put_marker_schema(b);
	json_close(b, '}');
}

/* --- libs ----------------------------------------------------------------- */

/* Breakpad's id: the first bytes of the build-id as a GUID, whose first
 * three parts are little-endian, and an age of 0. */
static void
breakpad_id(const char *build_id, size_t n, char out[static 34])
{
	static const uint8_t order[UUID_BYTES] = {3, 2, 1,  0,  5,  4,  7,  6,
	                                          8, 9, 10, 11, 12, 13, 14, 15};

	memset(out, '0', 33);
	out[33] = '\0';
	for (size_t i = 0; i < UUID_BYTES; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t from = 2 * order[i] + k;
			char c = from < n ? build_id[from] : '0';

			out[2 * i + k] = c >= 'a' && c <= 'f'
			                         ? (char)(c - 'a' + 'A')
			                         : c;
		}
}

static void
put_lib(const struct profile *p, const struct mapping *m, struct buf *b)
{
	const char *path = strings_get(p->strings, m->file, NULL);
	const char *slash = strrchr(path, '/'), *id;
	char breakpad[34];
	size_t n;

	id = strings_get(p->strings, m->build_id, &n);
	breakpad_id(id, n, breakpad);
	json_open(b, NULL, '{');
	json_put_text(b, "name", slash ? slash + 1 : path);
	json_put_text(b, "path", path);
	json_put_text(b, "debugName", slash ? slash + 1 : path);
	json_put_text(b, "debugPath", path);
	json_put_text(b, "breakpadId", breakpad);
	if (n)
		json_put_text(b, "codeId", id);
	else
		json_put_null(b, "codeId");
	json_put_null(b, "arch");
	json_close(b, '}');
}

void
fx_put_libs(const struct document *d)
{
	const struct profile *p = d->x.p;

	json_open(d->x.out, "libs", '[');
	for (uint32_t i = 0; i < p->nmappings; i++)
		put_lib(p, &p->mappings[i], d->x.out);
	json_close(d->x.out, ']');
}
