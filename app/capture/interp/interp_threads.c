#include "interp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
interp_threads_add(struct interp_threads *t, uint64_t native, uint64_t head)
{
	uint32_t cap = t->cap ? 2 * t->cap : 16;
	void *more;

	if (t->n == t->cap) {
		more = reallocarray(t->rows, cap, sizeof(*t->rows));
		if (!more)
			return -ENOMEM;
		t->rows = more;
		t->cap = cap;
	}
	t->rows[t->n++] = (struct interp_thread){native, head};
	return 0;
}

void
interp_threads_done(struct interp_threads *t)
{
	free(t->rows);
	*t = (struct interp_threads){0};
}

bool
interp_threads_find(const struct interp_threads *t, uint64_t native,
                    struct interp_slot *out)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->rows[i].native != native &&
		    t->rows[i].native != INTERP_ANY_THREAD)
			continue;
		out->language = t->language;
		out->layout = t->layout;
		out->head = t->rows[i].head;
		out->hop = t->hop;
		memcpy(out->own, t->own, sizeof(out->own));
		return true;
	}
	return false;
}
