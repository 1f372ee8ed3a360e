#include "store/clock_jump.h"

#include "store/db/row.h"

#include <errno.h>

/* Times by the database's clock. */
struct looked {
	int64_t now_ms, seen_ms, held_ms;
};

static int
read_looked(struct store *s, struct looked *out)
{
	int64_t v[3];
	int rc = row_ints(s->db, v, 3, SQL_RETENTION_CLOCK_GET, NO_ARGS);

	if (!rc)
		*out = (struct looked){v[0], v[1], v[2]};
	return rc;
}

/* Returns how long deletion waits. A clock that was set back ends the wait:
 * either the jump has been undone, or everything stored is in the future. */
static int64_t
held(const struct looked *l)
{
	if (l->now_ms - l->seen_ms > CLOCK_JUMP_MS)
		return CLOCK_JUMP_MS;
	if (l->held_ms <= l->now_ms || l->held_ms - l->now_ms > CLOCK_JUMP_MS)
		return 0;
	return l->held_ms - l->now_ms;
}

static int
look(struct store *s, int64_t *held_ms)
{
	struct looked l;
	int rc = read_looked(s, &l);
	int64_t wait_ms;

	if (rc)
		return rc;
	wait_ms = held(&l);
	l.held_ms = wait_ms ? l.now_ms + wait_ms : 0;
	rc = db_do(s->db, SQL_RETENTION_CLOCK_PUT,
	           ARGS(V(l.now_ms), V(l.held_ms)));
	if (!rc)
		*held_ms = wait_ms;
	return rc;
}

int
clock_jump_look(struct store *s, int64_t *held_ms)
{
	return store_begin(s) ?: store_end(s, look(s, held_ms));
}

int
clock_jump_held(struct store *s, int64_t *held_ms)
{
	struct looked l;
	int rc = read_looked(s, &l);

	if (!rc)
		*held_ms = held(&l);
	return rc;
}
