#include "holding.h"

static const struct row_field fields[] = {
	ROW_FIELD(holding, tenant),
	ROW_FIELD(holding, bytes),
};
static const struct row_type type = ROW_TYPE(holding, fields);

ROW_LIST_DONE(holdings, type)

int
holdings_read(struct store *s, enum sql sql, struct holdings *out)
{
	struct holdings h = {0};
	void *items = NULL;
	int rc = row_all(s->db, &type, &items, &h.n, sql, NO_ARGS);

	if (rc)
		return rc;
	h.items = items;
	*out = h;
	return 0;
}

struct holding *
holdings_largest(const struct holdings *h, int64_t *lead)
{
	struct holding *most = NULL;
	int64_t next = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct holding *one = &h->items[i];

		if (!most || one->bytes > most->bytes) {
			next = most ? most->bytes : 0;
			most = one;
		} else if (one->bytes > next) {
			next = one->bytes;
		}
	}
	if (!most || most->bytes <= 0)
		return NULL;
	*lead = most->bytes - next;
	return most;
}
