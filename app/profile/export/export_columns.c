/*
 * Writes the document of export_json() with its long columns in binary, which a
 * browser reads without parsing or copying.
 *
 * The first four bytes are the length of the document that follows. The
 * document is export_json()'s without depth, name, self and totals, padded
 * with spaces to a multiple of eight bytes, and has three more members: nodes
 * is the length of each column; scale is the factor by which self and totals
 * are to be multiplied; columns lists the columns that follow the document, in
 * order, each with the size of a value in bytes. Values of 1, 2 and 4 bytes
 * are unsigned integers, those of 8 are doubles; all are little-endian. Each
 * column begins at a multiple of eight bytes.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/json_out.h"

#include <assert.h>
#include <string.h>

#define ALIGN 8
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "columns are copied as they lie in memory");

struct column {
	const char *name;
	const uint32_t *ids;   /* or NULL, for values */
	const int64_t *values; /* sent after division by scale */
	int64_t scale;
	size_t width; /* bytes */
};

static int64_t
value_of(const struct column *c, uint32_t i)
{
	return c->ids ? c->ids[i] : c->values[i] / c->scale;
}

static size_t
width_of(const struct column *c, uint32_t n)
{
	int64_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t v = value_of(c, i);

		if (v < 0)
			return sizeof(double);
		if (v > most)
			most = v;
	}
	return most <= UINT8_MAX    ? 1
	       : most <= UINT16_MAX ? 2
	       : most <= UINT32_MAX ? 4
	                            : sizeof(double);
}

/* Returns the greatest common divisor of all totals, and so of all self values:
 * usually the time, or the bytes, that a sample stands for. */
static int64_t
scale_of(const struct tree *t)
{
	uint64_t scale = 0;

	for (uint32_t i = 0; i < t->n && scale != 1; i++) {
		uint64_t v = (uint64_t)t->total[i];

		for (v = t->total[i] < 0 ? -v : v; v;) {
			uint64_t rest = scale % v;

			scale = v;
			v = rest;
		}
	}
	return scale && scale <= INT64_MAX ? (int64_t)scale : 1;
}

static void
pad(struct buf *out, size_t n, char c)
{
	while (n++ % ALIGN)
		buf_putc(out, c);
}

static void
put_column(struct buf *out, const struct column *c, uint32_t n)
{
	size_t bytes = n * c->width;
	char *to = buf_reserve(out, bytes);

	if (!to)
		return;
	for (uint32_t i = 0; i < n; i++, to += c->width) {
		int64_t v = value_of(c, i);
		double real = (double)v;

		memcpy(to, c->width == sizeof(real) ? (void *)&real : &v,
		       c->width);
	}
	out->len += bytes;
	pad(out, bytes, '\0');
}

static void
put_document(struct buf *out, const struct tree *t,
             const struct export_meta *meta, const struct column *columns,
             size_t n)
{
	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	json_tree_names(t, out);
	json_tree_quality(out, meta->quality);
	json_tree_formats(out);
	json_put_int(out, "nodes", t->n);
	json_put_int(out, "scale", columns[n - 1].scale);
	json_open(out, "columns", '{');
	for (size_t i = 0; i < n; i++)
		json_put_int(out, columns[i].name, (int64_t)columns[i].width);
	json_close(out, '}');
	buf_putc(out, '}');
}

int
export_columns(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	int64_t scale = scale_of(t);
	struct column columns[] = {
		{.name = "depth", .ids = t->depth},
		{.name = "name", .ids = t->name},
		{.name = "self", .values = t->self, .scale = scale},
		{.name = "totals", .values = t->total, .scale = scale},
	};
	CLEANUP_BUF struct buf document = BUF_INIT(out->max);
	uint32_t length;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		columns[i].width = width_of(&columns[i], t->n);
	put_document(&document, t, meta, columns, ARRAY_LEN(columns));
	pad(&document, sizeof(length) + document.len, ' ');
	if (buf_err(&document))
		return buf_err(&document);
	length = (uint32_t)document.len;
	buf_add(out, &length, sizeof(length));
	buf_add(out, document.p, document.len);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		put_column(out, &columns[i], t->n);
	return buf_err(out);
}
