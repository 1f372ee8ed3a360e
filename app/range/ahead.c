#include "ahead.h"

#include "store/s3.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS     2  /* for parts in files; each takes a CPU */
#define MAX_THREADS 8  /* for parts in other places; most wait */
#define SLOTS       16 /* units that are made, or being made */
#define UNIT_PARTS  128
/* Stored bytes of all slots; decoded, profiles take about ten times as much. */
#define SLOTS_BYTES ((int64_t)4 << 20)
#define WHY_MAX     1024

struct ahead_slot {
	bool made;
	struct ahead_unit unit;
	struct buf why;
};

struct ahead {
	struct store files;  /* threads read these, if not in the database */
	struct store *store; /* rows are read again from it */
	const char *tenant;
	struct range_part *parts;
	size_t *order; /* the parts, unit by unit */
	size_t *first; /* by unit: its first place there; then the end */
	size_t n;      /* units */
	pthread_t threads[MAX_THREADS];
	size_t nthreads;
	struct ahead_slot last; /* the unit that the caller has */

	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed;
	size_t next, taken; /* unit to begin, unit to be taken */
	bool stop;
	struct ahead_slot slots[SLOTS]; /* of units from taken on, by number */
};

/* --- units ---------------------------------------------------------------- */

static int
by_series(const void *a, const void *b, void *arg)
{
	const struct range_part *parts = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct series *s = parts[x].series, *t = parts[y].series;

	return s != t ? (s > t) - (s < t) : (x > y) - (x < y);
}

/* True if two parts may count the stacks of one base. */
static bool
are_one(const struct range_part *a, const struct range_part *b)
{
	return a->series == b->series && a->window && b->window &&
	       a->window->level < WINDOW_HOUR &&
	       b->window->level < WINDOW_HOUR &&
	       !strcmp(a->window->segment, b->window->segment) &&
	       !strcmp(a->window->store, b->window->store);
}

/* Finds the units. Those of a series are in order of time. */
static int
find_units(struct ahead *a, size_t n)
{
	a->order = calloc(n + 1, sizeof(*a->order));
	a->first = calloc(n + 1, sizeof(*a->first));
	if (!a->order || !a->first)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		a->order[i] = i;
	qsort_r(a->order, n, sizeof(*a->order), by_series, (void *)a->parts);
	for (size_t i = 0; i < n; i++)
		if (!i || i - a->first[a->n - 1] == UNIT_PARTS ||
		    !are_one(&a->parts[a->order[i - 1]],
		             &a->parts[a->order[i]]))
			a->first[a->n++] = i;
	a->first[a->n] = n;
	return 0;
}

static int64_t
unit_bytes(const struct ahead *a, size_t unit)
{
	int64_t bytes = 0;

	for (size_t i = a->first[unit]; i < a->first[unit + 1]; i++)
		bytes += a->parts[a->order[i]].length;
	return bytes;
}

static void
slot_done(struct ahead_slot *s)
{
	for (size_t i = 0; s->unit.ones && i < s->unit.n; i++) {
		packed_done(&s->unit.ones[i].whole);
		packed_part_done(&s->unit.ones[i].counts);
	}
	free(s->unit.ones);
	packed_done(&s->unit.base);
	buf_done(&s->why);
	*s = (struct ahead_slot){0};
}

/* --- reading -------------------------------------------------------------- */

static int
read_base(const struct store *files, const struct window *base,
          struct packed *out, struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	int rc = window_read_base(files, base, &stored)
	                 ?: packed_decode(stored.p, stored.len, BLOB_MAX_RAW,
	                                  out, why);

	return rc ?: out->nodes ? 0 : -EBADMSG;
}

/* Reads a window. Its base is that of the unit or, if the unit has none yet,
 * its own. */
static int
read_window(const struct store *files, const struct window *w,
            struct ahead_unit *u, struct window *of, struct ahead_one *out,
            struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	struct window base;
	int rc = window_read_own(files, w, &base, &stored);

	if (!rc && base.length && !of->length) {
		rc = read_base(files, &base, &u->base, why);
		if (!rc)
			*of = base;
	}
	if (!rc && base.length && base.start == of->start) {
		out->counted = true;
		return packed_part_read(stored.p, stored.len, BLOB_MAX_RAW,
		                        u->base.p->nsamples, u->base.p->ntypes,
		                        &out->counts);
	}
	if (!rc && base.length)
		rc = window_read_base(files, &base, &stored);
	return rc
	               ?: packed_decode(stored.p, stored.len, BLOB_MAX_RAW,
	                                &out->whole, why);
}

/* Parts without samples have no profile. */
static void
read_unit(const struct ahead *a, struct ahead_unit *u, struct buf *why)
{
	struct window of = {.length = 0};

	for (size_t i = 0; i < u->n; i++) {
		const struct range_part *p = &a->parts[u->parts[i]];
		struct ahead_one *one = &u->ones[i];

		if (range_part_is_empty(p))
			continue;
		one->rc = p->window ? read_window(&a->files, p->window, u, &of,
		                                  one, why)
		                    : range_part_read(&a->files, p, &one->whole,
		                                      why);
	}
}

/* Returns a slot without parts when out of memory. */
static struct ahead_slot
make(const struct ahead *a, size_t unit)
{
	struct ahead_slot s = {.made = true, .why = BUF_INIT(WHY_MAX)};
	size_t n = a->first[unit + 1] - a->first[unit];

	s.unit.parts = a->order + a->first[unit];
	s.unit.ones = calloc(n, sizeof(*s.unit.ones));
	s.unit.n = s.unit.ones ? n : 0;
	read_unit(a, &s.unit, &s.why);
	return s;
}

/* --- ahead ---------------------------------------------------------------- */

/* Called under the lock. */
static bool
has_room(const struct ahead *a)
{
	int64_t bytes = unit_bytes(a, a->next);

	for (size_t i = a->taken; i < a->next; i++)
		bytes += unit_bytes(a, i);
	return a->next == a->taken ||
	       (a->next - a->taken < SLOTS && bytes <= SLOTS_BYTES);
}

/* Returns the next unit to read, n if there is none. Called under the lock. */
static size_t
begin(struct ahead *a)
{
	while (!a->stop && a->next < a->n && !has_room(a))
		pthread_cond_wait(&a->changed, &a->lock);
	return a->stop || a->next == a->n ? a->n : a->next++;
}

static void *
run(void *arg)
{
	struct ahead *a = arg;
	size_t i;

	pthread_mutex_lock(&a->lock);
	while ((i = begin(a)) < a->n) {
		struct ahead_slot s;

		pthread_mutex_unlock(&a->lock);
		s = make(a, i);
		pthread_mutex_lock(&a->lock);
		a->slots[i % SLOTS] = s;
		pthread_cond_broadcast(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static bool
is_elsewhere(const struct range_part *p)
{
	return !strcmp(p->window ? p->window->store : p->blob.store, BYTES_S3);
}

/* Returns how many threads are worthwhile. */
static size_t
threads_for(const struct ahead *a)
{
	for (size_t i = 0; i < a->first[a->n]; i++)
		if (is_elsewhere(&a->parts[i]))
			return MAX_THREADS;
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? THREADS : 0;
}

/* Starts threads with signals blocked: the serving thread handles those. A
 * thread that cannot be started is not an error. */
static void
start(struct ahead *a)
{
	size_t most = threads_for(a);
	sigset_t all, before;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	while (a->nthreads < most && a->nthreads < a->n && a->n > 1 &&
	       !pthread_create(&a->threads[a->nthreads], NULL, run, a))
		a->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int
ahead_new(const struct range *r, struct ahead **out)
{
	CLEANUP_AHEAD struct ahead *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->files = range_files(r->store, r->parts, r->n);
	a->store = r->store;
	a->tenant = r->tenant;
	a->parts = r->parts;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	rc = find_units(a, r->n);
	if (rc)
		return rc;
	if (!a->files.db)
		start(a);
	*out = TAKE(a);
	return 0;
}

void
ahead_free(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	for (size_t i = 0; i < a->nthreads; i++)
		pthread_join(a->threads[i], NULL);
	for (size_t i = 0; i < SLOTS; i++)
		slot_done(&a->slots[i]);
	slot_done(&a->last);
	free(a->order);
	free(a->first);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Waits for the unit to be made, and frees its slot. */
static struct ahead_slot
wait_for(struct ahead *a)
{
	struct ahead_slot *of, s;

	pthread_mutex_lock(&a->lock);
	of = &a->slots[a->taken % SLOTS];
	while (!of->made)
		pthread_cond_wait(&a->changed, &a->lock);
	s = *of;
	*of = (struct ahead_slot){0};
	a->taken++;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return s;
}

/* Reads a window again whose bytes were replaced since its row was read. */
static int
read_again(const struct ahead *a, const struct range_part *of,
           struct packed *out, struct buf *why)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series series = {0};
	struct range_part part = *of;
	int rc = window_get(a->store, a->tenant, of->window->id, &w, &series);

	if (rc || (w.start == of->window->start &&
	           !strcmp(w.segment, of->window->segment)))
		return rc ? rc : -EBADMSG;
	part.window = &w;
	buf_clear(why);
	return range_part_read(&a->files, &part, out, why);
}

static bool
is_lost(const struct ahead_one *one)
{
	return one->rc == -ENOENT || one->rc == -EBADMSG;
}

/* Reads a part once more whose bytes are missing or damaged, and marks it if
 * they still are. */
static int
settle(const struct ahead *a, struct range_part *part, struct ahead_one *one,
       struct buf *why)
{
	if (is_lost(one) && part->window) {
		one->counted = false;
		one->rc = read_again(a, part, &one->whole, why);
	}
	part->lost = is_lost(one);
	return part->lost ? 0 : one->rc;
}

int
ahead_next(struct ahead *a, struct ahead_unit **out, struct buf *why)
{
	struct ahead_unit *u = &a->last.unit;
	int rc = 0;

	slot_done(&a->last);
	if (a->taken == a->n)
		return -ENODATA;
	a->last = a->nthreads ? wait_for(a) : make(a, a->taken++);
	if (!u->ones)
		return -ENOMEM;
	buf_puts(why, buf_str(&a->last.why));
	for (size_t i = 0; i < u->n && !rc; i++)
		rc = settle(a, &a->parts[u->parts[i]], &u->ones[i], why);
	if (!rc)
		*out = u;
	return rc;
}

int
ahead_profile(struct ahead_unit *u, size_t i, const struct packed **out)
{
	struct ahead_one *one = &u->ones[i];

	*out = &one->whole;
	if (one->rc || !one->counted)
		return one->rc;
	*out = &u->base;
	packed_counts_begin(&u->base);
	return packed_counts_add(&u->base, &one->counts, 1) ? -EBADMSG : 0;
}
