/*
 * The line that tells how far a capture is: text, with nothing of a terminal
 * in it.
 */
#pragma once

#include "base/buf.h"

struct progress {
	const char *phase; /* the server's word for what is done now */
	double seconds;    /* since the capture began; < 0: it has not */
	double of;         /* seconds that it takes; 0: not known */
	int64_t samples;
};

/* Appends "capturing: 4.2 of 10 s, 331 samples [====>     ]" in just so many
 * columns. */
void progress_show(struct buf *out, const struct progress *p, size_t width);
