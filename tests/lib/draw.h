/*
 * Profiles drawn from a recorded one: what a slower sampler would have seen
 * of a program that goes on as it was recorded. Each sample is one of the
 * recording's stacks, by how often it has them; only what these refer to is
 * in the drawn profile.
 *
 * Samples are independent: windows drawn one by one and added up, and a
 * window as long as all of them drawn at once, are the same draw.
 */
#pragma once

#include "profile/profile.h"

struct draw {
	const struct profile *p; /* borrowed */
	uint64_t seed;
	double weight; /* samples recorded */
	double *keep;  /* by stack, with alias: Walker's tables */
	uint32_t *alias;
	int64_t *counts; /* by stack, of the profile being drawn */
};

/* p has samples in its first type, and time in its second. The same seed
 * draws the same; -ENOMEM, -EINVAL. */
MUST_CHECK int
draw_init(struct draw *d, const struct profile *p, uint64_t seed);
void draw_done(struct draw *d);
#define CLEANUP_DRAW CLEANUP(draw_done)

/*
 * Makes a recording such as one DRAW_MORE times as long might be. A short
 * recording has only a part of the rare stacks, of which it has one sample
 * each. For each of these, further stacks are made that cross over to another
 * at a frame which both have: one stack outside of that frame, the other
 * inside. Returns -errno.
 */
#define DRAW_MORE 8
MUST_CHECK int
draw_longer(const struct profile *p, uint64_t seed, struct profile **out);

/* Draws n samples, or about as many where these are more than stacks. */
MUST_CHECK int draw_profile(struct draw *d, int64_t n, int64_t period_ns,
                            struct profile **out);
/* Draws a number of samples when mean are expected. */
int64_t draw_poisson(struct draw *d, double mean);
