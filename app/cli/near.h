/*
 * The word that was probably meant.
 *
 *	struct near n = NEAR("gorutine");
 *	near_try(&n, "goroutine");		for each word that could be
 *	near_show(&n, &why);			": did you mean goroutine?"
 */
#pragma once

#include "base/buf.h"

struct near {
	const char *word; /* as written */
	const char *best; /* borrowed; NULL: no word is like it */
	size_t distance;  /* of best */
};
#define NEAR(text) ((struct near){.word = (text)})

/* Takes note of a word that could be meant; the very word is none. */
void near_try(struct near *n, const char *candidate);
/* Appends "\n  did you mean WORD?"; nothing where no word is like it. */
void near_show(const struct near *n, struct buf *out);
