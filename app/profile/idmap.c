#include "idmap.h"

#include <errno.h>

int
idmap_init(struct idmap *m, size_t n)
{
	struct id *ids = calloc(n ? n : 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	*m = (struct idmap){.ids = ids};
	return 0;
}

void
idmap_done(struct idmap *m)
{
	free(m->ids);
	*m = (struct idmap){0};
}

void
idmap_add(struct idmap *m, uint64_t id)
{
	m->ids[m->n] = (struct id){id, m->n};
	m->n++;
}

static int
by_id(const void *a, const void *b)
{
	const struct id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool
ascending(const struct idmap *m)
{
	for (uint32_t i = 1; i < m->n; i++)
		if (m->ids[i].id <= m->ids[i - 1].id)
			return false;
	return true;
}

int
idmap_seal(struct idmap *m)
{
	m->in_order = ascending(m);
	if (!m->in_order) {
		qsort(m->ids, m->n, sizeof(*m->ids), by_id);
		if (!ascending(m))
			return -EEXIST;
	}
	if (m->n && m->ids[0].id == 0)
		return -EEXIST;
	m->first = m->n ? m->ids[0].id : 0;
	m->dense = m->n && m->ids[m->n - 1].id - m->ids[0].id == m->n - 1;
	return 0;
}

uint32_t
idmap_search(const struct idmap *m, uint64_t id)
{
	struct id key = {.id = id};
	const struct id *found =
		bsearch(&key, m->ids, m->n, sizeof(*m->ids), by_id);

	return found ? found->row : IDMAP_NONE;
}
