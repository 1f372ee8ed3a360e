/* Functions of a Go program by name: stripping leaves their names. */
#include "gobin_private.h"

#include <string.h>

struct named {
	struct gobin *g;
	const char *const *names;
	size_t n;
	struct gobin_range *out;
};

static const char *
name_at(struct gobin *g, uint32_t func)
{
	const uint8_t *p = gobin_bytes(g, g->tab.funcs + (size_t)func,
	                               FUNC_NAME + sizeof(uint32_t));
	uint32_t at;

	if (!p)
		return NULL;
	memcpy(&at, p + FUNC_NAME, sizeof(at));
	return gobin_text(g, g->tab.names + (size_t)at);
}

static void
note(const struct named *d, const char *name, uint32_t start, uint32_t end)
{
	uint64_t text = d->g->about.text;

	for (size_t i = 0; i < d->n; i++)
		if (!d->out[i].end && !strcmp(d->names[i], name))
			d->out[i] =
				(struct gobin_range){text + start, text + end};
}

void
gobin_named(struct gobin *g, const char *const *names, size_t n,
            struct gobin_range *out)
{
	struct named d = {g, names, n, out};
	uint32_t row[2], next[2];

	memset(out, 0, n * sizeof(*out));
	if (!gobin_ftab_row(g, 0, row))
		return;
	for (size_t i = 0; i < g->tab.nfunc; i++) {
		const char *name = name_at(g, row[1]);

		if (!gobin_ftab_row(g, i + 1, next))
			return;
		if (name && row[0] < next[0])
			note(&d, name, row[0], next[0]);
		row[0] = next[0];
		row[1] = next[1];
	}
}
