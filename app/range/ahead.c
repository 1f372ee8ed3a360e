#include "ahead.h"

#include "store/s3.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define THREADS     2  /* of parts in files, which take a CPU each */
#define MAX_THREADS 8  /* of parts elsewhere, mostly waiting */
#define SLOTS       16 /* parts that are made, or being made */
/* Stored bytes of all slots; decoded, profiles take about ten times as much. */
#define SLOTS_BYTES ((int64_t)4 << 20)
#define WHY_MAX     1024

struct ahead_slot {
	bool made;
	int rc;
	struct packed packed;
	struct buf why;
};

struct ahead {
	struct store files;  /* threads read these, if not in the database */
	struct store *store; /* rows are read again from it */
	const char *tenant;
	const struct range_part *parts;
	size_t n;
	pthread_t threads[MAX_THREADS];
	size_t nthreads;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t next, taken; /* part to begin, part to be taken */
	bool stop;
	struct ahead_slot slots[SLOTS]; /* of parts from taken on, by number */
};

/* Called under the lock. */
static bool
has_room(const struct ahead *a)
{
	int64_t bytes = a->parts[a->next].length;

	for (size_t i = a->taken; i < a->next; i++)
		bytes += a->parts[i].length;
	return a->next == a->taken ||
	       (a->next - a->taken < SLOTS && bytes <= SLOTS_BYTES);
}

/* Returns the next part to read, n if there is none. Called under the lock. */
static size_t
begin(struct ahead *a)
{
	while (!a->stop && a->next < a->n && !has_room(a))
		pthread_cond_wait(&a->changed, &a->lock);
	return a->stop || a->next == a->n ? a->n : a->next++;
}

/* Parts without samples have no profile. */
static int
make(const struct ahead *a, size_t i, struct packed *out, struct buf *why)
{
	return range_part_is_empty(&a->parts[i])
	               ? 0
	               : range_part_read(&a->files, &a->parts[i], out, why);
}

static void *
run(void *arg)
{
	struct ahead *a = arg;
	size_t i;

	pthread_mutex_lock(&a->lock);
	while ((i = begin(a)) < a->n) {
		struct ahead_slot s = {.made = true, .why = BUF_INIT(WHY_MAX)};

		pthread_mutex_unlock(&a->lock);
		s.rc = make(a, i, &s.packed, &s.why);
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
	for (size_t i = 0; i < a->n; i++)
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
	while (a->nthreads < most && a->nthreads + 1 < a->n &&
	       !pthread_create(&a->threads[a->nthreads], NULL, run, a))
		a->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int
ahead_new(const struct range *r, struct ahead **out)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->files = range_files(r->store, r->parts, r->n);
	a->store = r->store;
	a->tenant = r->tenant;
	a->parts = r->parts;
	a->n = r->n;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (!a->files.db)
		start(a);
	*out = a;
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
	for (size_t i = 0; i < SLOTS; i++) {
		packed_done(&a->slots[i].packed);
		buf_done(&a->slots[i].why);
	}
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Waits for the part to be made, and frees its slot. */
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

static int
take(struct ahead *a, struct packed *out, struct buf *why)
{
	struct ahead_slot s;

	if (!a->nthreads)
		return make(a, a->taken++, out, why);
	s = wait_for(a);
	buf_puts(why, buf_str(&s.why));
	buf_done(&s.why);
	if (!s.rc)
		*out = s.packed;
	return s.rc;
}

int
ahead_take(struct ahead *a, struct packed *out, struct buf *why)
{
	const struct range_part *part = &a->parts[a->taken];
	int rc = take(a, out, why), again;

	if ((rc != -ENOENT && rc != -EBADMSG) || !part->window)
		return rc;
	again = read_again(a, part, out, why);
	return again ? rc : 0;
}
