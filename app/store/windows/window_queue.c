/*
 * The file of a queue has a slot for each process. A process fills its slot,
 * and waits for its turn; whoever has the turn commits what all slots hold. If
 * a process is killed, the kernel releases its turn and its slot; another
 * process commits the windows in the slot, and not twice, since their ids were
 * made before.
 */
#include "store/window_queue.h"

#include "base/clock.h"
#include "base/file.h"
#include "window_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>

#define FILE_MODE    0660
#define LAYOUT       1 /* of struct queue_file; incremented when it changes */
#define SLOTS        32
#define SLOT_WINDOWS 4 /* a push of more windows is committed alone */

enum slot_state {
	SLOT_IDLE,
	SLOT_WAITS,
	SLOT_TAKEN, /* a transaction has begun that includes it */
	SLOT_DONE,  /* rc is the result; -EAGAIN: commit it alone */
};

struct queue_slot {
	_Atomic int state;
	int rc;
	uint32_t n;
	int64_t length;
	char segment[ID_MAX], name[sizeof(((struct segment *)0)->name)];
	struct queued {
		struct window_ask ask;
		char id[ID_MAX], series[ID_MAX];
	} windows[SLOT_WINDOWS];
};

struct queue_file {
	uint32_t layout;
	pthread_mutex_t turn;
	struct queue_slot slots[SLOTS];
};

/* --- the file ------------------------------------------------------------- */

/* Locks n slots until fd is closed (F_OFD_SETLK), or tests whether another
 * process holds any of them (F_OFD_GETLK). *out_free: none was held. */
static int
lock_slots(int fd, int command, int first, int n, bool *out_free)
{
	struct flock l = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = n,
	};
	int rc = fcntl(fd, command, &l);

	*out_free = !rc && (command != F_OFD_GETLK || l.l_type == F_UNLCK);
	return rc && errno != EAGAIN && errno != EACCES ? -errno : 0;
}

static int
init_turn(pthread_mutex_t *turn)
{
	pthread_mutexattr_t a;
	int rc = pthread_mutexattr_init(&a);

	if (rc)
		return -rc;
	rc = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED)
	             ?: pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST)
	                        ?: pthread_mutex_init(turn, &a);
	pthread_mutexattr_destroy(&a);
	return -rc;
}

/* Initializes the file if no other process has a slot, as after a reboot. */
static int
prepare(int fd, struct queue_file *f)
{
	bool unused;
	int rc = lock_slots(fd, F_OFD_GETLK, 0, SLOTS, &unused);

	if (rc || !unused)
		return rc ? rc : f->layout == LAYOUT ? 0 : -EPROTO;
	memset(f, 0, sizeof(*f));
	f->layout = LAYOUT;
	return init_turn(&f->turn);
}

static int
take_slot(int fd, struct queue_file *f, struct queue_slot **out)
{
	for (int i = 0; i < SLOTS; i++) {
		int state = atomic_load(&f->slots[i].state);
		bool ours = false;
		int rc = state == SLOT_IDLE || state == SLOT_DONE
		                 ? lock_slots(fd, F_OFD_SETLK, i, 1, &ours)
		                 : 0;

		if (rc || ours) {
			*out = &f->slots[i];
			return rc;
		}
	}
	return -EUSERS;
}

/* Allocates and maps the file: a write to a hole on a full disk would cause
 * SIGBUS. */
static int
map_file(int fd, struct queue_file **out)
{
	int rc = -posix_fallocate(fd, 0, sizeof(struct queue_file));
	void *p = rc ? MAP_FAILED
	             : mmap(NULL, sizeof(struct queue_file),
	                    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return rc ? rc : -errno;
	*out = p;
	return 0;
}

int
window_queue_open(const struct store *s, struct window_queue *out)
{
	CLEANUP_WINDOW_QUEUE struct window_queue q = WINDOW_QUEUE_INIT;
	char path[PATH_MAX];
	int rc;

	if (db_is_shared(s->db))
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "%s/" STORE_DB WINDOW_QUEUE_SUFFIX,
	         s->dir);
	q.fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (q.fd < 0 || flock(q.fd, LOCK_EX))
		return -errno;
	rc = map_file(q.fd, &q.file)
	             ?: prepare(q.fd, q.file)
	                        ?: take_slot(q.fd, q.file, &q.own);
	if (rc)
		return rc;
	(void)flock(q.fd, LOCK_UN);
	*out = q;
	q = (struct window_queue)WINDOW_QUEUE_INIT;
	return 0;
}

void
window_queue_close(struct window_queue *q)
{
	if (q->file)
		munmap(q->file, sizeof(*q->file));
	close_ptr(&q->fd);
	*q = (struct window_queue)WINDOW_QUEUE_INIT;
}

/* --- committing ----------------------------------------------------------- */

/*
 * Inserts the contents of a slot, except what a killed process has already
 * committed.
 */
static int
insert_slot(struct store *s, const struct queue_slot *slot)
{
	struct segment g = {.fd = -1, .host = s->host, .length = slot->length};
	int rc;

	snprintf(g.id, sizeof(g.id), "%s", slot->segment);
	snprintf(g.name, sizeof(g.name), "%s", slot->name);
	rc = window_put_segment(s, &g);
	for (uint32_t i = 0; i < slot->n && i < SLOT_WINDOWS && !rc; i++) {
		const struct queued *from = &slot->windows[i];
		struct window_ask w = from->ask;

		w.series = from->series;
		rc = window_insert(s, &g, &w, from->id);
		if (rc == -ENOENT || rc == -EEXIST)
			rc = 0;
	}
	return rc;
}

/* Takes all slots that wait. */
static size_t
take_waiting(struct queue_file *f, struct queue_slot *out[static SLOTS])
{
	size_t n = 0;

	for (int i = 0; i < SLOTS; i++) {
		int waits = SLOT_WAITS;

		if (atomic_compare_exchange_strong(&f->slots[i].state, &waits,
		                                   SLOT_TAKEN) ||
		    waits == SLOT_TAKEN) /* by a process that was then killed */
			out[n++] = &f->slots[i];
	}
	return n;
}

static void
commit_waiting(struct store *s, struct window_queue *q)
{
	struct queue_slot *taken[SLOTS];
	int rc = store_begin(s); /* meanwhile, others may queue windows */
	bool begun = !rc;
	size_t n = take_waiting(q->file, taken);

	for (size_t i = 0; i < n && !rc; i++)
		rc = insert_slot(s, taken[i]);
	if (begun && rc && n > 1) { /* one push must not make others fail */
		store_rollback(s);
		rc = -EAGAIN;
	} else if (begun) {
		rc = store_end(s, rc);
	}
	for (size_t i = 0; i < n; i++) {
		taken[i]->rc = rc;
		atomic_store(&taken[i]->state, SLOT_DONE);
	}
}

static int
take_turn(struct queue_file *f)
{
	struct timespec end;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += DB_BUSY_MAX_MS / MS_PER_S;
	rc = pthread_mutex_clocklock(&f->turn, CLOCK_MONOTONIC, &end);
	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&f->turn);
	return rc == ETIMEDOUT ? -EBUSY : -rc;
}

static void
fill(struct queue_slot *slot, const struct segment *g,
     const struct window_ask *w, size_t n)
{
	slot->n = (uint32_t)n;
	slot->length = g->length;
	snprintf(slot->segment, sizeof(slot->segment), "%s", g->id);
	snprintf(slot->name, sizeof(slot->name), "%s", g->name);
	for (size_t i = 0; i < n; i++) {
		struct queued *to = &slot->windows[i];

		to->ask = w[i];
		snprintf(to->series, sizeof(to->series), "%s", w[i].series);
		id_new(WINDOW_PREFIX, to->id);
	}
	atomic_store(&slot->state, SLOT_WAITS);
}

/* True if the slot can be filled, since no process is committing it. */
static bool
is_free(struct queue_slot *slot)
{
	int state = atomic_load(&slot->state);

	return state == SLOT_IDLE || state == SLOT_DONE;
}

/* Withdraws the push in a slot; returns false if its transaction has begun. */
static bool
withdraw(struct queue_slot *slot)
{
	int waits = SLOT_WAITS;

	return atomic_compare_exchange_strong(&slot->state, &waits, SLOT_IDLE);
}

int
window_queue_commit(struct store *s, struct window_queue *q,
                    const struct segment *g, const struct window_ask *w,
                    size_t n)
{
	struct queue_slot *own = q->own;
	int rc;

	if (!own || n > SLOT_WINDOWS || !is_free(own))
		return window_commit(s, g, w, n, NULL);
	fill(own, g, w, n);
	rc = take_turn(q->file);
	if (rc && withdraw(own))
		return rc;
	if (rc) /* the process that commits it has the turn */
		rc = take_turn(q->file);
	if (!rc && atomic_load(&own->state) != SLOT_DONE)
		commit_waiting(s, q);
	if (!rc)
		pthread_mutex_unlock(&q->file->turn);
	if (atomic_load(&own->state) != SLOT_DONE)
		return -EINPROGRESS;
	return own->rc == -EAGAIN ? window_commit(s, g, w, n, NULL) : own->rc;
}
