/*
 * Random profiles drawn from a recorded one, as if a slower sampler watched
 * the program continue. Each sample is a stack of the recording, drawn with
 * its probability there. A drawn profile contains only what its stacks refer
 * to.
 *
 * Samples are independent: windows drawn one by one and added up have the same
 * distribution as one window of their total length.
 */
#pragma once

#include "profile/profile.h"

struct draw {
	const struct profile *p; /* borrowed */
	uint64_t seed;
	double weight; /* number of recorded samples */
	double *keep;  /* by stack, with alias: Walker's tables */
	uint32_t *alias;
	int64_t *counts; /* by stack, of the profile being drawn */
};

/* p has samples as its first type and time as its second. The same seed draws
 * the same. Errors: -ENOMEM, -EINVAL. */
MUST_CHECK int
draw_init(struct draw *d, const struct profile *p, uint64_t seed);
void draw_done(struct draw *d);
#define CLEANUP_DRAW CLEANUP(draw_done)

/*
 * Makes a recording look DRAW_MORE times as long. A short recording lacks most
 * rare stacks, and has one sample of each of the others. For each of these,
 * further stacks are made from it and another stack with a common frame: one
 * outside of the frame, the other inside. Returns -errno.
 */
#define DRAW_MORE 8
MUST_CHECK int
draw_longer(const struct profile *p, uint64_t seed, struct profile **out);

/* Draws n samples, or about n if that is more than the number of stacks. */
MUST_CHECK int draw_profile(struct draw *d, int64_t n, int64_t period_ns,
                            struct profile **out);
/* Draws a number of samples whose expected value is mean. */
int64_t draw_poisson(struct draw *d, double mean);
