#include "pushes.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rows.h"
#include "profile/pprof.h"
#include "profile/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENT_NS (300 * NS_PER_S)
#define ASKED_NS   (3600 * NS_PER_S)

void
pushes_done(struct pushes *p)
{
	segment_close(&p->segment);
	window_queue_close(&p->queue);
	free(p->asked);
}

/* --- frames without names ------------------------------------------------- */

/* The mappings of a profile that have frames without names. */
struct push_unnamed {
	struct profile_place {
		char *build_id, *file;
		uint64_t *addresses, start, limit, offset;
		uint32_t n, room;
	} * of; /* by mapping */
	uint32_t n;
};

static void
unnamed_free(struct push_unnamed *u)
{
	for (uint32_t i = 0; u && i < u->n; i++) {
		free(u->of[i].build_id);
		free(u->of[i].file);
		free(u->of[i].addresses);
	}
	if (u)
		free(u->of);
	free(u);
}
DEFINE_CLEANUP(struct push_unnamed *, unnamed_free)

static int
add_unnamed(struct profile_place *to, const struct profile *p,
            const struct location *l)
{
	const struct mapping *m = &p->mappings[l->mapping];
	int rc = ROWS_ROOM_OF(to->addresses, to->room, to->n, 1,
	                      NAMES_MAX_OF_ONE);

	if (rc)
		return rc == -E2BIG ? 0 : rc;
	if (!to->n) {
		to->build_id = strdup(profile_text(p, m->build_id));
		to->file = strdup(profile_text(p, m->file));
		to->start = m->start;
		to->limit = m->limit;
		to->offset = m->offset;
	}
	if (!to->build_id || !to->file)
		return -ENOMEM;
	to->addresses[to->n++] = l->address;
	return 0;
}

/* Finds frames without names whose names may be found by build-id. */
static int
find_unnamed(const struct profile *p, struct push_unnamed **out)
{
	CLEANUP(unnamed_free_ptr)
	struct push_unnamed *u = calloc(1, sizeof(*u));
	uint32_t n = 0;
	int rc = 0;

	if (u)
		u->of = calloc(p->nmappings + 1, sizeof(*u->of));
	if (!u || !u->of)
		return -ENOMEM;
	u->n = p->nmappings;
	for (uint32_t i = 0; i < p->nlocations && !rc; i++) {
		const struct location *l = &p->locations[i];

		if (l->mapping == PROFILE_NONE || profile_is_named(p, i) ||
		    !p->mappings[l->mapping].build_id)
			continue;
		rc = add_unnamed(&u->of[l->mapping], p, l);
		n++;
	}
	if (!rc && n)
		*out = TAKE(u);
	return rc;
}

/* True if this process asked for the frame not long ago; otherwise, remembers
 * that it does now. */
static bool
is_asked(struct pushes *p, const struct push_windows *w,
         const struct profile_place *of, uint64_t address)
{
	uint64_t h = hash_bytes(w->tenant, strlen(w->tenant)), *places;

	h = hash_pair(h, hash_bytes(of->build_id, strlen(of->build_id)));
	h = hash_pair(h, of->offset);
	h = hash_pair(h, address - names_shift(of->start));
	places = p->asked[h % PUSHES_ASKED];
	for (size_t i = 0; i < PUSHES_WAYS; i++)
		if (places[i] == h)
			return true;
	memmove(places + 1, places, (PUSHES_WAYS - 1) * sizeof(*places));
	*places = h;
	return false;
}

static void
forget_asked(struct pushes *p)
{
	free(p->asked);
	p->asked = NULL;
}

/* Starts over every hour: asking again marks modules that are still pushed,
 * and reaches workers that were added since. */
static int
remember_asked(struct pushes *p)
{
	int64_t now = clock_mono_ns();

	if (now - p->asked_ns > ASKED_NS)
		forget_asked(p);
	if (p->asked)
		return 0;
	p->asked_ns = now;
	p->asked = calloc(PUSHES_ASKED, sizeof(*p->asked));
	return p->asked ? 0 : -ENOMEM;
}

/* Asks for the names of a push's frames, in one transaction. */
static int
ask_names(struct pushes *p, struct store *s, const struct push_windows *w)
{
	const struct push_unnamed *u = w->unnamed;
	CLEANUP_FREE struct names_wanted *all = calloc(u->n, sizeof(*all));
	uint32_t n = 0;
	int rc = all ? remember_asked(p) : -ENOMEM;

	for (uint32_t i = 0; i < u->n && !rc; i++) {
		struct profile_place *of = &u->of[i];
		uint32_t wanted = 0;

		for (uint32_t k = 0; k < of->n; k++)
			if (!is_asked(p, w, of, of->addresses[k]))
				of->addresses[wanted++] = of->addresses[k];
		if (wanted)
			all[n++] = (struct names_wanted){
				{of->build_id, of->file, of->start, of->limit,
			         of->offset},
				of->addresses,
				wanted};
	}
	return rc || !n ? rc : names_want(s, w->tenant, w->service, all, n);
}

static void
want_names(struct pushes *p, struct store *s, const struct push_windows *w)
{
	int rc = w->unnamed ? ask_names(p, s, w) : 0;

	if (!rc)
		return;
	forget_asked(p);
	log_warn("names of frames that were pushed: %s", strerror(-rc));
}

/* --- windows -------------------------------------------------------------- */

void
push_windows_done(struct push_windows *w)
{
	for (size_t i = 0; i < w->n; i++)
		buf_done(&w->of[i].made);
	w->n = 0;
	unnamed_free(w->unnamed);
	w->unnamed = NULL;
}

static bool
is_sound(int64_t value)
{
	return value >= -PUSH_MAX_VALUE && value <= PUSH_MAX_VALUE;
}

int
push_add(struct push_windows *w, const char *type, const struct profile *p,
         const void *file, size_t n)
{
	struct push_window *to = &w->of[w->n];
	int64_t value = 0, samples = 0;
	int rc = w->n == PUSH_MAX_TYPES
	                 ? -E2BIG
	                 : tree_sums(p, profile_type_index(p, NULL), &value,
	                             &samples);

	if (rc)
		return rc;
	if (!is_sound(value) || !is_sound(samples))
		return -EOVERFLOW;
	*to = (struct push_window){
		.type = type,
		.made = BUF_INIT((size_t)WINDOW_MAX_BYTES),
		.samples = samples,
		.value = value,
	};
	w->n++;
	if (!w->unnamed)
		rc = find_unnamed(p, &w->unnamed);
	if (!rc && !file)
		rc = pprof_encode_fast(p, &to->made);
	to->file = file ? file : to->made.p;
	to->length = file ? n : to->made.len;
	return rc;
}

/* Opens the queue, without which each push is a transaction. */
static void
open_queue(struct pushes *p, const struct store *s)
{
	int rc = p->queue.own ? 0 : window_queue_open(s, &p->queue);

	if (rc && rc != -EOPNOTSUPP && !p->alone)
		log_warn("pushes are stored one by one: " STORE_DB
		                 WINDOW_QUEUE_SUFFIX ": %s",
		         strerror(-rc));
	p->alone = rc != 0;
}

static int
open_segment(struct pushes *p, struct store *s)
{
	struct segment g = SEGMENT_INIT;
	int64_t now = clock_mono_ns();
	int rc;

	if (p->segment.fd >= 0 && now - p->opened_ns < SEGMENT_NS &&
	    p->segment.length < SEGMENT_MAX_BYTES)
		return 0;
	rc = segment_create(s, s->host, &g);
	if (rc)
		return rc;
	open_queue(p, s);
	segment_close(&p->segment);
	p->segment = g;
	p->opened_ns = now;
	return 0;
}

/* Windows that are about to be stored, with their series. */
struct batch {
	struct window_ask *asks;
	char (*series)[ID_MAX];
	size_t n;
};

static void
batch_done(struct batch *b)
{
	free(b->asks);
	free(b->series);
}

static int
batch_init(struct batch *b, const struct push_windows *w, size_t n)
{
	size_t all = 1;

	for (size_t i = 0; i < n; i++)
		all += w[i].n;
	b->asks = calloc(all, sizeof(*b->asks));
	b->series = calloc(all, sizeof(*b->series));
	return b->asks && b->series ? 0 : -ENOMEM;
}

static int
append(struct pushes *p, const struct push_windows *w,
       const struct push_window *of, const char *series, struct window_ask *out)
{
	*out = (struct window_ask){
		.series = series,
		.level = WINDOW_CAPTURED,
		.start_ms = w->start_ms,
		.end_ms = w->end_ms,
		.duration_ms = w->end_ms - w->start_ms,
		.windows = 1,
		.sample_count = of->samples,
		.value = of->value,
	};
	return segment_append(&p->segment, of->file, of->length, out);
}

/* Adds the windows of a push to the batch, or refuses the push. */
static int
add_push(struct pushes *p, struct store *s, struct push_windows *w,
         struct batch *b)
{
	int rc = 0;

	for (size_t i = 0; i < w->n && !rc; i++)
		rc = series_of_pushed(s, w->tenant, w->service, w->of[i].type,
		                      w->labels, w->max_series,
		                      b->series[b->n + i]);
	w->refused = rc == -ENOENT || rc == -EDQUOT ? rc : 0;
	if (w->refused)
		return 0;
	for (size_t i = 0; i < w->n && !rc; i++, b->n++)
		rc = append(p, w, &w->of[i], b->series[b->n], &b->asks[b->n]);
	return rc;
}

int
pushes_store(struct pushes *p, struct store *s, struct push_windows *w,
             size_t n)
{
	CLEANUP(batch_done) struct batch b = {0};
	int rc = batch_init(&b, w, n) ?: open_segment(p, s);
	int64_t length = p->segment.length;

	for (size_t i = 0; i < n && !rc; i++)
		rc = add_push(p, s, &w[i], &b);
	if (!rc && b.n)
		rc = segment_sync(&p->segment)
		             ?: window_queue_commit(s, &p->queue, &p->segment,
		                                    b.asks, b.n);
	if (rc == -EINPROGRESS)
		segment_close(&p->segment);
	if (rc) {
		p->segment.length = length; /* the next push overwrites them */
		return rc;
	}
	for (size_t i = 0; i < n; i++)
		if (!w[i].refused && w[i].n)
			want_names(p, s, &w[i]);
	return 0;
}
