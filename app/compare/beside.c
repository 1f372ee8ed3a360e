#include "beside.h"

#include "range/slice.h"
#include "range/stored.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a profile, inflated: a smaller one costs little more than a thread,
 * and two larger ones at once would need too much memory. */
#define LEAST_BYTES (1u << 20)
#define MOST_BYTES  (64u << 20)
#define STACK_BYTES ((size_t)1 << 20)

struct beside {
	struct store files; /* without its database */
	struct blob blob;
	const struct compared *of;
	pthread_t thread;
	bool joined;
	struct profile *p;
	struct tree *t;
};

int
beside_pick(const struct sift *only, struct profile *p, struct tree **out)
{
	int rc = only->nlabels ? sift_profile(p, only) : 0;

	return rc ?: tree_functions(p, profile_type_index(p, NULL), out);
}

static void *
run(void *arg)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct beside *b = arg;

	if (!stored_read(&b->files, &b->blob, &b->p, &why) &&
	    beside_pick(&b->of->only, b->p, &b->t))
		profile_free(TAKE(b->p));
	return NULL;
}

/* Finds the file of a session. False if it is of the wrong size, or one that a
 * thread cannot read. */
static bool
find_file(const struct compared *x, const struct session *of, struct blob *out)
{
	struct slice part;
	uint32_t bytes;

	return !window_is(of->id) && !slice_parse(of->id, &part) &&
	       !stored_find(x->store, of->id, BLOB_PPROF, out) &&
	       !strcmp(out->store, BYTES_FILE) &&
	       !blob_raw_bytes(x->store, out, &bytes) && bytes >= LEAST_BYTES &&
	       bytes <= MOST_BYTES;
}

/* Starts the thread with signals blocked: they are for the serving thread. */
static int
start(struct beside *b)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	if (pthread_attr_init(&attr))
		return -1;
	rc = pthread_attr_setstacksize(&attr, STACK_BYTES)
	             ?: pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!rc) {
		rc = pthread_create(&b->thread, &attr, run, b);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	return rc;
}

struct beside *
beside_new(const struct compared *x)
{
	CLEANUP_FREE struct beside *b = calloc(1, sizeof(*b));
	struct blob other;

	if (!b || sysconf(_SC_NPROCESSORS_ONLN) < 2 ||
	    !find_file(x, &x->base, &other) || !find_file(x, &x->now, &b->blob))
		return NULL;
	b->files = *x->store;
	b->files.db = NULL;
	b->of = x;
	return start(b) ? NULL : TAKE(b);
}

static void
join(struct beside *b)
{
	if (!b->joined)
		pthread_join(b->thread, NULL);
	b->joined = true;
}

bool
beside_take(struct beside *b, struct profile **out_p, struct tree **out_t)
{
	join(b);
	if (!b->p)
		return false;
	*out_p = TAKE(b->p);
	*out_t = TAKE(b->t);
	return true;
}

void
beside_free(struct beside *b)
{
	if (!b)
		return;
	join(b);
	tree_free(b->t);
	profile_free(b->p);
	free(b);
}
