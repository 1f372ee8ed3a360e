#include "window_runs.h"

#include "base/clock.h"
#include "block_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interval at which a store without blocks is checked for new ones. */
#define NONE_NS NS_PER_S

struct block_run {
	char *series, *block, *checksum, *store, *name;
	int64_t tier, start_ms, end_ms, duration_ms, windows, sample_count;
	int64_t value, first, n, start, length, quota_ms, whole;
	int64_t entries, entry_bytes, pins;
};
static const struct row_field fields[] = {
	ROW_FIELD(block_run, series),       ROW_FIELD(block_run, block),
	ROW_FIELD(block_run, checksum),     ROW_FIELD(block_run, store),
	ROW_FIELD(block_run, name),         ROW_FIELD(block_run, tier),
	ROW_FIELD(block_run, start_ms),     ROW_FIELD(block_run, end_ms),
	ROW_FIELD(block_run, duration_ms),  ROW_FIELD(block_run, windows),
	ROW_FIELD(block_run, sample_count), ROW_FIELD(block_run, value),
	ROW_FIELD(block_run, first),        ROW_FIELD(block_run, n),
	ROW_FIELD(block_run, start),        ROW_FIELD(block_run, length),
	ROW_FIELD(block_run, quota_ms),     ROW_FIELD(block_run, whole),
	ROW_FIELD(block_run, entries),      ROW_FIELD(block_run, entry_bytes),
	ROW_FIELD(block_run, pins),
};
static const struct row_type type = ROW_TYPE(block_run, fields);

struct block_runs {
	struct block_run *items;
	size_t n;
};

static void
runs_done(struct block_runs *r)
{
	row_free_all(&type, r->items, r->n);
}
#define CLEANUP_RUNS CLEANUP(runs_done)

/* --- one window ----------------------------------------------------------- */

/* Names a window "win-", the block's random part, "-" and the window's index in
 * the block. */
static int
name_window(const char *block, int64_t nth, char **out)
{
	if (asprintf(out, WINDOW_PREFIX "%s-%lld",
	             block + strlen(BLOB_BLOCK_PREFIX), (long long)nth) < 0) {
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Splits an id into block and index; false for another kind of id. */
static bool
parse_name(const char *id, char block[static ID_MAX], int64_t *nth)
{
	const char *random = id + strlen(WINDOW_PREFIX), *dash;
	char *end;

	if (!id_valid(WINDOW_PREFIX, id) || !(dash = strchr(random, '-')) ||
	    dash - random != ID_RANDOM_CHARS || dash[1] < '0' || dash[1] > '9')
		return false;
	snprintf(block, ID_MAX, BLOB_BLOCK_PREFIX "%.*s", ID_RANDOM_CHARS,
	         random);
	*nth = strtoll(dash + 1, &end, 10);
	return !*end && *nth < BLOCK_MAX_WINDOWS;
}

bool
run_window_is(const char *id)
{
	char block[ID_MAX];
	int64_t nth;

	return parse_name(id, block, &nth);
}

static int
make_window(const struct block_run *r, const struct block_window *e,
            int64_t nth, struct window *out)
{
	struct window w = {
		.series = strdup(r->series),
		.parent = strdup(""),
		.segment = strdup(r->name),
		.checksum = strdup(e->checksum),
		.level = block_level((enum block_tier)r->tier),
		.start_ms = e->start_ms,
		.end_ms = e->end_ms,
		.duration_ms = e->duration_ms,
		.windows = e->windows,
		.sample_count = e->sample_count,
		.value = e->value,
		.start = e->start,
		.length = e->length,
		.quota_ms = e->quota_ms,
		.whole = r->whole,
	};
	int rc = name_window(r->block, nth, &w.id);

	snprintf(w.store, sizeof(w.store), "%s", r->store);
	if (rc || !w.series || !w.parent || !w.segment || !w.checksum) {
		window_done(&w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

/* Reads the directory entries of a run's windows, and checks that their bytes
 * lie in the run. */
static int
read_entries(const struct store *s, const struct block_run *r,
             struct block_window **out)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BLOCK_MAX_BYTES);
	struct piece piece = {r->whole, 0, 0};
	struct block_window *w;
	int64_t at = r->start;
	int rc;

	if (r->n <= 0 || r->n > BLOCK_MAX_WINDOWS || r->first < 0 ||
	    r->first > BLOCK_MAX_WINDOWS || r->entries < 0 ||
	    !block_entry_bytes_valid(r->entry_bytes))
		return -EBADMSG;
	piece.start = r->entries + r->first * r->entry_bytes;
	piece.n = r->n * r->entry_bytes;
	rc = bytes_get(s, r->store, r->name, &piece, &b);
	if (rc)
		return rc;
	w = calloc((size_t)r->n, sizeof(*w));
	if (!w)
		return -ENOMEM;
	for (int64_t i = 0; i < r->n && !rc; i++) {
		block_entry(b.p + i * r->entry_bytes, r->entry_bytes, &w[i]);
		if (w[i].start != at || w[i].length < 0 || w[i].windows <= 0 ||
		    w[i].length > r->start + r->length - at ||
		    w[i].start_ms < r->start_ms || w[i].end_ms > r->end_ms)
			rc = -EBADMSG;
		at += w[i].length;
	}
	if (rc)
		free(w);
	else
		*out = w;
	return rc;
}

/* Reads the entries of a run. The row of a single window's run contains its
 * entry. */
static int
entries_of(const struct store *s, const struct block_run *r,
           struct block_window **out)
{
	struct block_window *w;

	/* a database row may hold any value */
	if (r->tier < 0 || r->tier >= BLOCK_TIERS)
		return -EBADMSG;
	if (r->n != 1)
		return read_entries(s, r, out);
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct block_window){
		.start_ms = r->start_ms,
		.end_ms = r->end_ms,
		.duration_ms = r->duration_ms,
		.windows = r->windows,
		.sample_count = r->sample_count,
		.value = r->value,
		.quota_ms = r->quota_ms,
		.start = r->start,
		.length = r->length,
	};
	snprintf(w->checksum, sizeof(w->checksum), "%s", r->checksum);
	*out = w;
	return 0;
}

/* --- lists ---------------------------------------------------------------- */

static int
mark_pinned(struct store *s, const struct block_run *r, struct window_list *l)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_BLOCK_PINS, ARGS(V(r->block)), &rows);

	while (!rc && (rc = db_next(&rows)) > 0) {
		CLEANUP_FREE char *id = NULL;

		rc = name_window(r->block, db_col_int(&rows, 0), &id);
		for (size_t i = 0; i < l->n && !rc; i++)
			if (!strcmp(l->items[i].id, id))
				l->items[i].pinned = 1;
	}
	return rc;
}

/* Adds the windows of a run that match want. */
static int
expand(struct store *s, const struct block_run *r, const struct run_want *want,
       struct window_list *l)
{
	CLEANUP_WINDOWS struct window_list found = {0};
	CLEANUP_FREE struct block_window *w = NULL;
	int rc = entries_of(s, r, &w);

	if (rc)
		return rc;
	found.items = calloc((size_t)r->n, sizeof(*found.items));
	if (!found.items)
		return -ENOMEM;
	for (int64_t i = 0; i < r->n && !rc; i++) {
		int64_t at = want->reach ? w[i].end_ms - 1 : w[i].start_ms;

		if (at < want->from_ms || w[i].start_ms > want->to_ms)
			continue;
		rc = make_window(r, &w[i], r->first + i, &found.items[found.n]);
		found.n += !rc;
	}
	if (!rc && r->pins)
		rc = mark_pinned(s, r, &found);
	return rc ?: window_list_take(l, &found);
}

static bool
has_window_at(const struct window_list *l, int64_t start_ms)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].start_ms == start_ms)
			return true;
	return false;
}

/* True if a list of the level above has the parent of a run; all windows of a
 * run share it. */
static bool
has_parent(const struct window_list *parents, enum block_tier tier,
           const struct block_run *r)
{
	enum window_level level = block_level(tier);

	return parents->n &&
	       has_window_at(parents, window_floor(level + 1, r->start_ms));
}

/* Adds windows of a tier. Leaves out runs whose parent is in parents. */
static int
add_tier(struct store *s, const struct run_want *want, enum block_tier tier,
         const struct window_list *parents, struct window_list *l)
{
	CLEANUP_RUNS struct block_runs r = {0};
	size_t had = l->n;
	int rc = ROW_LIST(s->db, &type, &r,
	                  want->before ? SQL_RUN_BEFORE : SQL_RUN_BETWEEN,
	                  ARGS(V(want->series), V((int64_t)tier),
	                       V(want->from_ms - block_range_ms(tier)),
	                       V(want->to_ms)));

	for (size_t i = 0; i < r.n && !rc; i++) {
		if ((int64_t)(l->n - had) > want->limit)
			break;
		if (!has_parent(parents, tier, &r.items[i]))
			rc = expand(s, &r.items[i], want, l);
	}
	return rc;
}

static int
add_level(struct store *s, const struct run_want *want, enum window_level level,
          bool open, struct window_list *l)
{
	CLEANUP_WINDOWS struct window_list parents = {0};
	const struct window_list none = {0};
	int rc = 0;

	if (open && level < WINDOW_DAY) {
		const struct run_want above = {
			.series = want->series,
			.from_ms = window_floor(level + 1, want->from_ms),
			.to_ms = want->to_ms,
			.limit = INT64_MAX,
		};

		rc = add_tier(s, &above, (enum block_tier)(level + 1), &none,
		              &parents);
	}
	if (!rc && level == WINDOW_MINUTE)
		rc = add_tier(s, want, BLOCK_FRESH, &parents, l);
	return rc ?: add_tier(s, want, (enum block_tier)level, &parents, l);
}

static int
newest_first(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return window_by_time(b, a) ?: strcmp(y->id, x->id);
}

/* Drops windows of the previous page, and windows past the limit. */
static void
cut(const struct run_want *want, struct window_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct window *w = &l->items[i];
		bool seen = want->before && w->start_ms == want->to_ms &&
		            strcmp(w->id, want->before) >= 0;

		if (seen || (int64_t)n >= want->limit)
			window_done(w);
		else
			l->items[n++] = *w;
	}
	l->n = n;
}

/* Returns 1 if the store has blocks, 0 or -errno. Most stores have none, so the
 * result 0 is kept for NONE_NS. */
static int
has_any(struct store *s)
{
	int64_t now_ns = clock_mono_ns();
	int rc;

	if (now_ns < s->no_runs_ns)
		return 0;
	rc = row_any(s->db, SQL_RUN_ANY, NO_ARGS);
	if (!rc)
		s->no_runs_ns = now_ns + NONE_NS;
	return rc;
}

int
window_add_runs(struct store *s, const struct run_want *want,
                struct window_list *l)
{
	bool top = want->level == WINDOW_LEVELS;
	size_t had = l->n;
	int rc;

	if (want->from_ms > want->to_ms || want->level == WINDOW_CAPTURED)
		return 0;
	rc = has_any(s);
	if (rc <= 0)
		return rc;
	rc = 0;
	for (int64_t level = WINDOW_MINUTE; level < WINDOW_LEVELS && !rc;
	     level++)
		if (top || level == want->level)
			rc = add_level(s, want, (enum window_level)level,
			               top || want->open, l);
	if (rc || l->n == had)
		return rc;
	qsort(l->items, l->n, sizeof(*l->items),
	      want->before ? newest_first : window_by_time);
	cut(want, l);
	return 0;
}

int
run_windows_of_hosts(struct store *s, const struct sum_due *due,
                     const char *type_name, const char *labels,
                     struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_RUNS struct block_runs r = {0};
	int64_t last_ms = due->hour_ms + window_span_ms(WINDOW_HOUR) - 1;
	const struct run_want want = {.from_ms = due->hour_ms,
	                              .to_ms = last_ms};
	int rc = ROW_LIST(s->db, &type, &r, SQL_RUN_OF_HOSTS,
	                  ARGS(V(due->tenant), V(due->service), V(type_name),
	                       V(labels),
	                       V(due->hour_ms - block_range_ms(BLOCK_HOURS)),
	                       V(last_ms)));

	for (size_t i = 0; i < r.n && !rc; i++)
		rc = expand(s, &r.items[i], &want, &l);
	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

/* --- by id ---------------------------------------------------------------- */

int
run_window_get(struct store *s, const char *tenant, const char *id,
               struct window *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	CLEANUP_RUNS struct block_runs r = {0};
	char block[ID_MAX];
	int64_t nth;
	int rc;

	if (!parse_name(id, block, &nth))
		return -ENOENT;
	rc = ROW_LIST(s->db, &type, &r, SQL_RUN_OF_WINDOW,
	              ARGS(V((const char *)block), V(tenant), V(nth)));
	for (size_t i = 0; i < r.n && !rc; i++)
		rc = expand(s, &r.items[i],
		            &(struct run_want){.to_ms = INT64_MAX}, &l);
	for (size_t i = 0; i < l.n && !rc; i++)
		if (!strcmp(l.items[i].id, id)) {
			*out = TAKE(l.items[i]);
			return 0;
		}
	return rc ?: -ENOENT;
}

/* Adds the window that an id names, if there is one. */
static int
add_named(struct store *s, const char *tenant, const char *id,
          struct window_list *l)
{
	CLEANUP_WINDOWS struct window_list one = {0};
	int rc;

	one.items = calloc(1, sizeof(*one.items));
	if (!one.items)
		return -ENOMEM;
	rc = run_window_get(s, tenant, id, one.items);
	one.n = !rc;
	return rc ? rc : window_list_take(l, &one);
}

/* Adds the first windows of a block. */
static int
add_first(struct store *s, const char *tenant, const char *block,
          struct window_list *l)
{
	int rc = 0;

	for (int64_t nth = 0; l->n < WINDOW_FOUND_MAX && !rc; nth++) {
		CLEANUP_FREE char *id = NULL;

		rc = name_window(block, nth, &id)
		             ?: add_named(s, tenant, id, l);
	}
	return rc;
}

int
run_window_find(struct store *s, const char *tenant, const char *prefix,
                struct window_list *l)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	const char *random = prefix + strlen(WINDOW_PREFIX);
	char block[ID_MAX];
	int rc = has_any(s);

	if (rc <= 0 || !id_valid(WINDOW_PREFIX, prefix))
		return rc < 0 ? rc : 0;
	if (strchr(random, '-')) {
		rc = add_named(s, tenant, prefix, l);
		return rc == -ENOENT ? 0 : rc;
	}
	snprintf(block, sizeof(block), BLOB_BLOCK_PREFIX "%s", random);
	rc = db_query(
		s->db, SQL_BLOCK_FIND,
		ARGS(V((const char *)block), V(tenant), V(WINDOW_FOUND_MAX)),
		&rows);
	while (!rc && (rc = db_next(&rows)) > 0) {
		rc = add_first(s, tenant, db_col_text(&rows, 0), l);
		rc = rc == -ENOENT ? 0 : rc;
	}
	return rc;
}

int
run_window_pin(struct store *s, const char *tenant, const char *id, bool pinned)
{
	CLEANUP_WINDOW struct window w = {0};
	char block[ID_MAX];
	int64_t nth;
	int rc = run_window_get(s, tenant, id, &w);

	if (rc || !parse_name(id, block, &nth))
		return rc ?: -ENOENT;
	return pinned ? db_do(s->db, SQL_BLOCK_PIN_PUT,
	                      ARGS(V(nth), V((const char *)block), V(tenant)))
	              : db_do(s->db, SQL_BLOCK_PIN_DROP,
	                      ARGS(V((const char *)block), V(nth)));
}
