#include "capture/quality.h"

#include "base/json.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define FEW  100
#define MANY 20 /* one in so many */

enum unit { COUNT, MILLI };

static const struct {
	const char *json, *doc;
	enum unit unit;
	size_t offset;
} rows[] = {
#define QUALITY(field, unit, json, doc) \
	{json, doc, unit, offsetof(struct quality, field)},
#include "capture/quality.def"
#undef QUALITY
};

static const char *const notes[] = {
#define QUALITY_NOTE(bit, text) text,
#include "capture/quality.def"
#undef QUALITY_NOTE
};

static void
note_if(struct quality *q, uint32_t note, bool when)
{
	if (when)
		q->notes |= note;
}

void
quality_conclude(struct quality *q)
{
	double all = (double)(q->kept + q->lost);
	double hz = q->cpu_ns ? (double)q->kept * 1e9 / (double)q->cpu_ns : 0;

	/* A throttled CPU is silent until its next tick: rates only fall. */
	q->achieved_rate = q->kept ? llround(1000 * hz * (double)q->kept / all)
	                           : 0;
	note_if(q, QUALITY_NOTE_OF(LOST), q->lost > 0);
	note_if(q, QUALITY_NOTE_OF(THROTTLED), q->throttled > 0);
	note_if(q, QUALITY_NOTE_OF(TRUNCATED), q->truncated > q->kept / MANY);
	note_if(q, QUALITY_NOTE_OF(PYTHON), q->python_missed > q->kept / MANY);
	note_if(q, QUALITY_NOTE_OF(TREE_FULL), q->dropped > 0);
	note_if(q, QUALITY_NOTE_OF(FEW_SAMPLES), q->kept < FEW);
}

static int64_t
value(const struct quality *q, size_t row)
{
	return *(const int64_t *)(const void *)((const char *)q +
	                                        rows[row].offset);
}

static void
put_value(const struct quality *q, size_t row, struct buf *out)
{
	int64_t v = value(q, row);

	if (rows[row].unit == COUNT)
		buf_int(out, v);
	else
		buf_addf(out, "%.3f", (double)v / 1000);
}

void
quality_json(const struct quality *q, struct buf *out)
{
	const char *comma = "";

	buf_addf(out, "{\"source\":\"%s\",",
	         q->source == QUALITY_ENDPOINT ? "endpoint" : "outside");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_addf(out, "\"%s\":", rows[i].json);
		put_value(q, i, out);
		buf_putc(out, ',');
	}
	buf_puts(out, "\"notes\":[");
	for (unsigned i = 0; i < QUALITY_NOTES; i++) {
		if (!(q->notes >> i & 1))
			continue;
		buf_puts(out, comma);
		json_escape(out, notes[i], strlen(notes[i]));
		comma = ",";
	}
	buf_puts(out, "]}");
}

void
quality_text(const struct quality *q, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_addf(out, "  %-16s ", rows[i].json);
		put_value(q, i, out);
		buf_putc(out, '\n');
	}
	for (unsigned i = 0; i < QUALITY_NOTES; i++)
		if (q->notes >> i & 1)
			buf_addf(out, "  note: %s\n", notes[i]);
}
