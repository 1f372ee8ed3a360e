/*
 * The line that shows the progress of a capture, as plain text.
 */
#pragma once

#include "base/buf.h"

struct progress {
	const char *phase; /* the current phase, as named by the server */
	double seconds;    /* since the capture began; < 0 if it has not */
	double of;         /* seconds that it takes; 0 if unknown */
	int64_t samples;
};

/* Appends "capturing: 4.2 of 10 s, 331 samples [====> ]", exactly width columns
 * wide. */
void progress_show(struct buf *out, const struct progress *p, size_t width);
