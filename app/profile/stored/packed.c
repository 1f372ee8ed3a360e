#include "profile/packed.h"

#include "profile/model/build.h"

#include <errno.h>

void
packed_done(struct packed *k)
{
	profile_free(k->p);
	free(k->nodes);
	*k = (struct packed){0};
}

/* Counts the frames from the root to each node. Returns NULL when out of
 * memory. */
static uint32_t *
depths(const struct packed *k)
{
	uint32_t *depth = calloc(k->nnodes, sizeof(*depth));

	for (uint32_t i = 1; depth && i < k->nnodes; i++)
		depth[i] = depth[k->nodes[i].parent] + 1;
	return depth;
}

static uint64_t
count_frames(const struct packed *k, const uint32_t *depth)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->p->nsamples; i++)
		n += depth[k->p->stack[k->p->samples[i].stack0]];
	return n;
}

static void
write_out(const struct packed *k, const uint32_t *depth, uint32_t *stack)
{
	struct profile *p = k->p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];
		uint32_t at = p->stack[s->stack0];

		*s = (struct sample){n, depth[at], s->label0, s->nlabels};
		for (; at; at = k->nodes[at].parent)
			stack[n++] = k->nodes[at].location;
	}
	free(p->stack);
	p->stack = stack;
	p->nstack = n;
}

/* Drops the hashes, which are of stacks of nodes; no row can be added then. */
static void
seal(struct profile *p)
{
	profile_index_free(p->index);
	p->index = NULL;
}

static int
unpack(struct packed *k, size_t max_bytes)
{
	CLEANUP_FREE uint32_t *depth = depths(k);
	uint64_t frames = depth ? count_frames(k, depth) : 0;
	uint32_t *stack;

	if (!depth)
		return -ENOMEM;
	if (frames > PROFILE_MAX_ROWS || frames * sizeof(*stack) > max_bytes)
		return -E2BIG;
	stack = malloc((size_t)(frames + 1) * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	write_out(k, depth, stack);
	seal(k->p);
	return 0;
}

int
packed_profile(struct packed *k, size_t max_bytes, struct profile **out)
{
	int rc = k->nodes ? unpack(k, max_bytes) : 0;

	if (rc)
		return rc;
	*out = TAKE(k->p);
	packed_done(k);
	return 0;
}
