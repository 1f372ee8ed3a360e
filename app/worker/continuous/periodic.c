#include "periodic_private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "store/session.h"
#include "worker/ipc/fetch.h"
#include "worker/ipc/pull_pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* How long an answer may be late. */
#define LATE_NS (120 * NS_PER_S)
static size_t
count(const struct periodics *t, enum periodic_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->items[i].state == state;
	return n;
}

void
periodic_rest(const struct periodics *t, struct periodic *v)
{
	if (v->id[0] && !v->url &&
	    worker_may_look(t->watches->events, v->id, NULL, NULL, 0))
		log_debug("%s: the opener takes no messages", v->service);
	close_ptr(&v->fd);
	v->state = PERIODIC_IDLE;
	v->fetch = 0;
	v->id[0] = '\0';
}

/* --- results -------------------------------------------------------------- */

void
periodic_report(struct periodics *t, struct periodic *v, enum capture_error e)
{
	watches_report(t->watches,
	               &(struct continuous_problem){.tenant = v->tenant,
	                                            .service = v->service,
	                                            .type = (char *)v->type},
	               &v->error, e);
}

static bool
is_lasting(enum capture_error e)
{
	return e == CAPTURE_FINISH_DIED || e == CAPTURE_FINISH_CPU ||
	       e == CAPTURE_READING_LARGE ||
	       !strcmp(capture_error_code(e), "Unsupported") ||
	       !strcmp(capture_error_code(e), "PermissionDenied");
}

/* Counts missed windows. If a reading is kept, the next window includes what
 * they would have; otherwise they are a gap. */
static void
missed(const struct periodics *t, const struct periodic *v, int64_t n)
{
	*(v->reading < 0 ? &t->watches->counts.gaps
	                 : &t->watches->counts.widened) += n;
}

static void
fail(struct periodics *t, struct periodic *v, enum capture_error e,
     int64_t now_ns)
{
	periodic_rest(t, v);
	missed(t, v, 1);
	if (e != CAPTURE_NO_PROCESS) /* normal when the service does not run */
		periodic_report(t, v, e);
	if (is_lasting(e) && !t->ends)
		v->next_ns = now_ns + PERIODICS_RETRY_NS;
}

static void
stored(struct periodics *t, struct periodic *v)
{
	periodic_rest(t, v);
	periodic_report(t, v, CAPTURE_OK);
	if (t->stored)
		t->stored(t->arg, v);
}

/* Stores all finished profiles in one transaction. */
static int
store_made(struct periodics *t, int64_t now_ns)
{
	struct window_ask asks[PERIODICS_MAKING];
	struct periodic *of[PERIODICS_MAKING];
	int fds[PERIODICS_MAKING], rc;
	size_t n = 0;

	for (size_t i = 0; i < t->n && n < PERIODICS_MAKING; i++) {
		struct periodic *v = &t->items[i];

		if (v->state != PERIODIC_MADE)
			continue;
		of[n] = v;
		asks[n] = v->made;
		asks[n].series = v->series;
		fds[n++] = v->fd;
	}
	rc = n ? watches_add(t->watches, asks, fds, n, now_ns) : 0;
	for (size_t i = 0; i < n && !rc; i++)
		stored(t, of[i]);
	return rc;
}

static struct periodic *
find(struct periodics *t, const char *id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].id[0] && !strcmp(t->items[i].id, id))
			return &t->items[i];
	return NULL;
}

static bool
is_sound(const struct msg_done *m)
{
	return m->quality.duration_ms >= 0 && m->quality.kept >= 0 &&
	       m->value >= 0 && m->start_ms > 0 && m->quality.processes >= 0 &&
	       m->start_ms < INT64_MAX / 2 &&
	       m->quality.duration_ms < INT64_MAX / 2;
}

static enum capture_error
error_of(const struct msg_done *m)
{
	if (!m->error)
		return is_sound(m) ? CAPTURE_OK : CAPTURE_INTERNAL;
	return m->error < CAPTURE_ERRORS ? m->error : CAPTURE_INTERNAL;
}

/* Ends a capture that made a first reading, and so no window: a gap if there
 * was an earlier reading (had). */
static void
first_reading(struct periodics *t, struct periodic *v, bool had)
{
	periodic_rest(t, v);
	t->watches->counts.gaps += had;
	periodic_report(t, v, CAPTURE_OK);
}

bool
periodics_done_one(struct periodics *t, const struct msg_done *m,
                   int fds[static 2], int64_t now_ns)
{
	struct periodic *v = memchr(m->id, '\0', ID_MAX) ? find(t, m->id)
	                                                 : NULL;
	bool had = v && v->reading >= 0;
	enum capture_error e = error_of(m);

	if (!v || v->state != PERIODIC_MAKING)
		return v != NULL;
	if (!e && v->grows)
		e = periodic_reading(t, v, TAKE_FD(fds[1]), now_ns);
	if (e) {
		fail(t, v, e, now_ns);
		return true;
	}
	if (v->grows && !m->quality.processes) {
		first_reading(t, v, had);
		return true;
	}
	v->state = PERIODIC_MADE;
	v->made = (struct window_ask){
		.level = WINDOW_CAPTURED,
		.start_ms = m->start_ms,
		.end_ms = m->start_ms + m->quality.duration_ms,
		.duration_ms = m->quality.duration_ms,
		.windows = 1,
		.sample_count = quality_samples(&m->quality),
		.value = m->value,
		.quota_ms = m->quality.quota_ms,
	};
	return true;
}

/* --- captures ------------------------------------------------------------- */

static int64_t
seconds_of(const struct periodic *v)
{
	return v->gauge ? 1 : v->period_ns / NS_PER_S;
}

static int
open_profile(struct periodic *v)
{
	int fd = memfd_create("stoker-periodic", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close_ptr(&v->fd);
	v->fd = fd;
	return 0;
}

static int
make_of_body(struct periodics *t, struct periodic *v)
{
	struct msg_pull m = {
		.type = MSG_PULL,
		.step = pull_first(v->type),
		.status = v->status,
		.start_ms = v->asked_ms,
		.elapsed_ms = (clock_mono_ns() - v->asked_ns) / NS_PER_MS,
	};
	CLEANUP_FD int body = TAKE_FD(v->fd);
	int rc = open_profile(v);
	int fds[] = {v->fd, body};

	memcpy(m.id, v->id, sizeof(m.id));
	return rc ? rc
	          : msg_send(t->runs->analyser, &m, sizeof(m), fds,
	                     ARRAY_LEN(fds));
}

static int
look(struct periodics *t, struct periodic *v, const struct targets *targets,
     int64_t now_ns)
{
	struct msg_start m = {
		.type = v->grows ? MSG_GROW : MSG_START,
		.ways = v->ways,
		.duration_ms = (uint64_t)(seconds_of(v) * MS_PER_S),
		.set = v->grows && v->keep,
		.known_ms = periodic_known_ms(t, now_ns),
	};
	struct followed now;
	int rc, fds[] = {-1, v->reading};

	targets_followed(targets, v->tenant, v->service, SESSION_ALL_ORDINALS,
	                 &now);
	rc = now.n ? open_profile(v) : -ESRCH;
	fds[0] = v->fd;

	if (!rc)
		rc = worker_may_look(t->watches->events, v->id, now.pids,
		                     now.starts, now.n);
	if (!rc && v->java)
		rc = worker_may(t->watches->events, WORKER_MAY_ASK,
		                m.duration_ms, now.pids, now.starts, now.n);
	if (!rc && v->keep)
		rc = periodic_keep(t, v, targets);
	if (rc)
		return rc;
	m.npids = now.n;
	memcpy(m.pids, now.pids, now.n * sizeof(*m.pids));
	memcpy(m.id, v->id, sizeof(m.id));
	v->state = PERIODIC_MAKING;
	return msg_send(t->runs->analyser, &m, sizeof(m), fds,
	                v->reading < 0 ? 1 : ARRAY_LEN(fds));
}

static enum capture_error
fetch(struct periodics *t, struct periodic *v)
{
	struct fetch_ask ask;

	if (runs_fetch_ask(t->runs, v->tenant, v->url, pull_first(v->type),
	                   seconds_of(v), &ask))
		return CAPTURE_FETCH_URL;
	if (t->want_fetcher(t->arg) ||
	    msg_send(t->runs->fetcher, &ask, sizeof(ask), NULL, 0))
		return CAPTURE_FETCH_DIED;
	v->state = PERIODIC_FETCHING;
	v->fetch = ask.id;
	v->asked_ms = clock_wall_ms();
	v->asked_ns = clock_mono_ns();
	return CAPTURE_OK;
}

bool
periodics_fetched(struct periodics *t, const struct fetch_answer *a, int *body,
                  int64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++) {
		struct periodic *v = &t->items[i];

		if (v->state != PERIODIC_FETCHING || v->fetch != a->id)
			continue;
		if (a->error || *body < 0) {
			fail(t, v,
			     runs_fetch_error(a->error ? a->error
			                               : FETCH_INTERNAL),
			     now_ns);
			return true;
		}
		v->state = PERIODIC_FETCHED;
		v->status = a->status;
		v->fd = TAKE_FD(*body);
		return true;
	}
	return false;
}

void
periodics_analyser_gone(struct periodics *t, int64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].state == PERIODIC_MAKING)
			fail(t, &t->items[i], CAPTURE_ANALYSER_DIED, now_ns);
}

void
periodics_fetcher_gone(struct periodics *t, int64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].state == PERIODIC_FETCHING)
			fail(t, &t->items[i], CAPTURE_FETCH_DIED, now_ns);
}

/* --- time ----------------------------------------------------------------- */

int64_t
periodic_first_time(const struct periodic *v, int64_t now_ns)
{
	uint64_t h = hash_pair(hash_bytes(v->service, strlen(v->service)),
	                       hash_bytes(v->type, strlen(v->type)));

	return now_ns + (int64_t)(h % (uint64_t)v->period_ns);
}

/* Sets the next turn; missed turns are skipped. */
static void
next_time(struct periodics *t, struct periodic *v, int64_t now_ns)
{
	int64_t over = (now_ns - v->next_ns) / v->period_ns;

	if (t->ends) {
		v->next_ns = INT64_MAX;
		return;
	}
	if (!v->next_ns) {
		v->next_ns = periodic_first_time(v, now_ns);
		return;
	}
	missed(t, v, over);
	v->next_ns += (over + 1) * v->period_ns;
}

/* Handles a service that does not run, which is not a gap. */
static void
nobody(struct periodics *t, struct periodic *v, int64_t now_ns)
{
	periodic_rest(t, v);
	if (v->grows && periodic_nobody(t, v, now_ns))
		log_debug("%s: its first reading is not kept", v->service);
}

static void
begin(struct periodics *t, struct periodic *v, const struct targets *targets,
      int64_t now_ns)
{
	enum capture_error e = CAPTURE_OK;
	int rc = 0;

	next_time(t, v, now_ns);
	periodic_forget_old(t, v, now_ns);
	id_new("periodic-", v->id);
	v->deadline_ns = now_ns + seconds_of(v) * NS_PER_S +
	                 t->runs->finish_ns + LATE_NS;
	if (v->url)
		e = fetch(t, v);
	else
		rc = look(t, v, targets, now_ns);
	if (rc == -ESRCH)
		nobody(t, v, now_ns);
	else if (e || rc)
		fail(t, v, e ? e : CAPTURE_ANALYSER_DIED, now_ns);
}

/* Returns the profile that is overdue the longest and may begin. */
static struct periodic *
due(struct periodics *t, int64_t now_ns)
{
	size_t making = count(t, PERIODIC_MAKING);
	struct periodic *best = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct periodic *v = &t->items[i];

		if (v->state == PERIODIC_IDLE && v->next_ns <= now_ns &&
		    (v->url || making < PERIODICS_MAKING) &&
		    (!best || v->next_ns < best->next_ns))
			best = v;
	}
	return best;
}

static void
begin_due(struct periodics *t, const struct targets *targets, int64_t now_ns)
{
	size_t most = (size_t)t->watches->conf->continuous_at_once;
	struct periodic *v;

	while (t->runs->n < t->runs->max &&
	       t->n - count(t, PERIODIC_IDLE) < most && (v = due(t, now_ns)))
		begin(t, v, targets, now_ns);
}

static void
go_on(struct periodics *t, int64_t now_ns)
{
	size_t making = count(t, PERIODIC_MAKING);

	for (size_t i = 0; i < t->n; i++) {
		struct periodic *v = &t->items[i];

		if (v->state == PERIODIC_FETCHED && making < PERIODICS_MAKING) {
			making++;
			v->state = PERIODIC_MAKING;
			if (make_of_body(t, v))
				fail(t, v, CAPTURE_ANALYSER_DIED, now_ns);
		} else if ((v->state == PERIODIC_MAKING ||
		            v->state == PERIODIC_FETCHING) &&
		           now_ns > v->deadline_ns) {
			fail(t, v, CAPTURE_INTERNAL, now_ns);
		}
	}
}

void
periodics_step(struct periodics *t, const struct targets *targets,
               int64_t now_ns)
{
	t->watches->others_rc = store_made(t, now_ns);
	if (t->runs->analyser < 0)
		return;
	go_on(t, now_ns);
	if (t->watches->state != CONTINUOUS_HOST_RUNNING && !t->ends)
		return;
	periodics_keep(t, targets, now_ns);
	begin_due(t, targets, now_ns);
}

void
periodics_wind_up(struct periodics *t, int64_t now_ns)
{
	bool last = t->watches->state == CONTINUOUS_HOST_RUNNING;

	t->ends = true;
	for (size_t i = 0; i < t->n; i++)
		t->items[i].next_ns =
			last && t->items[i].reading >= 0 ? now_ns : INT64_MAX;
}

bool
periodics_wait(const struct periodics *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct periodic *v = &t->items[i];

		if (v->state == PERIODIC_MAKING || v->state == PERIODIC_MADE ||
		    (v->state == PERIODIC_IDLE && v->next_ns != INT64_MAX))
			return true;
	}
	return false;
}
