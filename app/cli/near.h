/*
 * Finds the word that the user probably meant.
 *
 *	struct near n = NEAR("gorutine");
 *	near_try(&n, "goroutine");		for each word that could be
 *	near_show(&n, &why);			": did you mean goroutine?"
 */
#pragma once

#include "base/buf.h"

struct near {
	const char *word; /* as the user wrote it */
	const char *best; /* borrowed; NULL if no word is similar */
	size_t distance;  /* distance of best */
};
#define NEAR(text) ((struct near){.word = (text)})

/* Considers a candidate. A candidate that equals the word is ignored. */
void near_try(struct near *n, const char *candidate);
/* Appends "\n did you mean WORD?", or nothing if no word is similar. */
void near_show(const struct near *n, struct buf *out);
