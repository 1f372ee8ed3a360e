/*
 * A capture's report on itself. A poor profile says so.
 */
#pragma once

#include "base/buf.h"

enum quality_note {
#define QUALITY_NOTE(bit, text) QUALITY_BIT_##bit,
#include "capture/quality.def"
#undef QUALITY_NOTE
	QUALITY_NOTES
};
#define QUALITY_NOTE_OF(bit) (UINT32_C(1) << QUALITY_BIT_##bit)

/* Who took it: "source" of the report. */
enum quality_source { QUALITY_OUTSIDE, QUALITY_ENDPOINT };

struct quality {
#define QUALITY(field, unit, json, doc) int64_t field;
#include "capture/quality.def"
#undef QUALITY
	uint32_t notes;  /* QUALITY_NOTE_OF() bits */
	uint32_t source; /* enum quality_source */
};

/* Sets what follows from the numbers: achieved rate and notes. */
void quality_conclude(struct quality *q);
/* {"source":"…", "askedRate":…, …, "notes":["…"]} */
void quality_json(const struct quality *q, struct buf *out);
/* "  name  number" lines and notes, for a terminal. */
void quality_text(const struct quality *q, struct buf *out);
