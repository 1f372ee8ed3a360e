/* Chooses which block a host sends next, and when. */
#include "block_private.h"

#include "base/clock.h"
#include "store/db/row.h"

#define HOUR_MS   (3600 * MS_PER_S)
#define SETTLE_MS (20 * MS_PER_S) /* for windows that end with their minute */
/* How long to wait until windows are rolled up: for fresh minutes, and for
 * hours and days. */
#define FRESH_PATIENCE_MS (5 * 60 * MS_PER_S)
#define PATIENCE_MS       (15 * 60 * MS_PER_S)

/* The host column of this host's own cursors is empty; other rows are cursors
 * of hosts that send to this store. */
#define OWN ""

struct next {
	struct store *s;
	const char *tenant;
	int64_t now_ms, wait_ms, first_ms;
};

/* Reads the time from which a tier is to be sent: the end of what the centre
 * has received, or the hour or day of the first window. */
static int
begin_of(const struct next *n, enum block_tier tier, int64_t *out_ms)
{
	int64_t step = tier == BLOCK_DAYS ? block_range_ms(tier) : HOUR_MS;
	int64_t first = n->first_ms - n->first_ms % step;
	int rc = block_cursor(n->s, n->tenant, OWN, tier, out_ms);

	if (!rc && *out_ms < first)
		*out_ms = first;
	return rc;
}

/* Returns 1 if all windows of a level that begin in a span are rolled up, or
 * the wait has ended; else 0 or -errno. */
static int
is_ready(const struct next *n, enum window_level level, int64_t from_ms,
         int64_t to_ms, int64_t patience_ms)
{
	int rc;

	if (to_ms + SETTLE_MS > n->now_ms)
		return 0;
	if (to_ms + patience_ms <= n->now_ms)
		return 1;
	rc = row_any(n->s->db, SQL_BLOCK_OPEN,
	             ARGS(V((int64_t)level), V(from_ms), V(to_ms), V(n->tenant),
	                  V((const char *)n->s->host)));
	return rc < 0 ? rc : !rc;
}

static int
next_minutes(const struct next *n, int64_t begin_ms, struct block_span *out)
{
	*out = (struct block_span){BLOCK_MINUTES, begin_ms, begin_ms + HOUR_MS};
	if (out->end_ms + n->wait_ms > n->now_ms)
		return 0;
	return is_ready(n, WINDOW_CAPTURED, out->start_ms, out->end_ms,
	                PATIENCE_MS);
}

/* Chooses all finished hours of one day, once their minutes are sent. */
static int
next_hours(const struct next *n, int64_t minutes_ms, struct block_span *out)
{
	int64_t begin, most;
	int rc = begin_of(n, BLOCK_HOURS, &begin);

	if (rc)
		return rc;
	*out = (struct block_span){BLOCK_HOURS, begin, begin};
	most = window_floor(WINDOW_DAY, begin) + block_range_ms(BLOCK_HOURS);
	while (out->end_ms < most && out->end_ms + HOUR_MS <= minutes_ms) {
		rc = is_ready(n, WINDOW_MINUTE, out->end_ms,
		              out->end_ms + HOUR_MS, PATIENCE_MS);
		if (rc <= 0)
			break;
		out->end_ms += HOUR_MS;
	}
	return rc < 0 ? rc : out->end_ms > begin;
}

static int
next_day(const struct next *n, struct block_span *out)
{
	int64_t begin, hours;
	int rc = begin_of(n, BLOCK_DAYS, &begin)
	                 ?: begin_of(n, BLOCK_HOURS, &hours);

	if (rc)
		return rc;
	*out = (struct block_span){BLOCK_DAYS, begin,
	                           begin + block_range_ms(BLOCK_DAYS)};
	if (out->end_ms > hours)
		return 0;
	return is_ready(n, WINDOW_HOUR, out->start_ms, out->end_ms,
	                PATIENCE_MS);
}

/* Chooses minutes that no block of a whole hour has covered yet. */
static int
next_fresh(const struct next *n, int64_t minutes_ms, struct block_span *out)
{
	int64_t span = window_span_ms(WINDOW_MINUTE), begin, end;
	int rc = block_cursor(n->s, n->tenant, OWN, BLOCK_FRESH, &begin);

	if (rc)
		return rc;
	if (begin < minutes_ms)
		begin = minutes_ms;
	end = window_floor(WINDOW_HOUR, begin) + HOUR_MS;
	if (end > window_floor(WINDOW_MINUTE, n->now_ms))
		end = window_floor(WINDOW_MINUTE, n->now_ms);
	for (rc = 0; end > begin; end -= span) {
		rc = is_ready(n, WINDOW_CAPTURED, begin, end,
		              FRESH_PATIENCE_MS);
		if (rc)
			break;
	}
	*out = (struct block_span){BLOCK_FRESH, begin, end};
	return rc;
}

static int
read_first(struct next *n)
{
	return row_int(n->s->db, &n->first_ms, SQL_BLOCK_FIRST,
	               ARGS(V(n->tenant), V((const char *)n->s->host)));
}

int
block_next(struct store *s, const char *tenant, int64_t now_ms, int64_t wait_ms,
           struct block_span *out)
{
	struct next n = {
		.s = s, .tenant = tenant, .now_ms = now_ms, .wait_ms = wait_ms};
	int64_t minutes;
	int rc = read_first(&n);

	if (rc || n.first_ms < 0)
		return rc;
	rc = begin_of(&n, BLOCK_MINUTES, &minutes);
	if (rc)
		return rc;
	rc = next_hours(&n, minutes, out);
	if (!rc)
		rc = next_day(&n, out);
	if (!rc)
		rc = next_minutes(&n, minutes, out);
	return rc ? rc : next_fresh(&n, minutes, out);
}

int
block_sent(struct store *s, const char *tenant, enum block_tier tier,
           int64_t to_ms)
{
	int64_t step = tier == BLOCK_FRESH  ? window_span_ms(WINDOW_MINUTE)
	               : tier == BLOCK_DAYS ? block_range_ms(tier)
	                                    : HOUR_MS;

	return db_do(s->db, SQL_BLOCK_CURSOR_PUT,
	             ARGS(V(tenant), V(OWN), V((int64_t)tier),
	                  V((to_ms + step - 1) / step * step)));
}

int
block_waiting(struct store *s, const char *tenant, struct block_waiting *w)
{
	int64_t fresh, minutes, first, waiting[3];
	int rc = block_cursor(s, tenant, OWN, BLOCK_FRESH, &fresh)
	                 ?: block_cursor(s, tenant, OWN, BLOCK_MINUTES,
	                                 &minutes);

	if (!rc)
		rc = row_ints(s->db, waiting, 3, SQL_BLOCK_WAITING,
		              ARGS(V(fresh > minutes ? fresh : minutes),
		                   V(tenant), V((const char *)s->host)));
	if (rc)
		return rc;
	w->windows += waiting[0];
	w->bytes += waiting[1];
	first = waiting[2];
	if (first && (!w->first_ms || first < w->first_ms))
		w->first_ms = first;
	return 0;
}
