/*
 * Ways to take a profile: starts the engine of a way, waits for the capture's
 * time, and reports why an engine fails.
 */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/buckets.h"
#include "capture/heap.h"
#include "capture/snapshot.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#define PROGRESS_MS 1000

_Static_assert(READING_MAX_BYTES == (size_t)8 << 20, "READING_LARGE's text");

enum profile_type_id
analyser_type(const struct analyser_job *job)
{
	static const enum profile_type_id types[] = {
#define WAY(type, program, engine, check) TYPE_##type,
#include "ways.def"
#undef WAY
	};

	return types[ways_first(job->ways)];
}

static enum way_engine
engine_of(const struct analyser_job *job)
{
	return way_rows[ways_first(job->ways)].engine;
}

const struct engine *
analyser_engine(const struct analyser_job *job)
{
	static const struct engine *const engines[ENGINES] = {
		[ENGINE_BUCKETS] = &buckets_engine,
		[ENGINE_HEAP] = &heap_engine,
		[ENGINE_SNAPSHOT] = &snapshot_engine,
	};

	return engines[engine_of(job)];
}

uint64_t
analyser_next(const struct analyser_job *job)
{
	return job->ways & ~ways_of(job->ways, engine_of(job));
}

bool
analyser_take_ask(struct analyser_job *job, const struct msg_start *m)
{
	const struct engine *engine;

	memcpy(job->id, m->id, ID_MAX);
	job->ways = m->ways;
	job->rate = m->rate;
	job->set = m->set;
	job->titles = m->titles;
	job->threads = m->threads;
	job->known_ms = m->known_ms;
	job->attempt = m->attempt;
	job->list = m->list;
	job->duration_ms = m->duration_ms;
	job->npids = m->npids;
	memcpy(job->pids, m->pids, sizeof(job->pids));
	if (!m->ways || m->ways >> WAYS || ways_of(m->ways, ENGINE_PAGES) ||
	    m->npids > WORKER_MAX_PIDS || m->titles >= TITLES ||
	    m->duration_ms > UINT64_MAX / 2 / (uint64_t)NS_PER_MS)
		return false;
	engine = analyser_engine(job);
	return m->type == MSG_START || (m->type == MSG_WATCH && !engine) ||
	       (m->type == MSG_GROW && engine && engine->grow);
}

/* --- the recorder --------------------------------------------------------- */

int
analyser_record(struct analyser *a, struct analyser_job *job,
                uint64_t duration_ns)
{
	struct capture_ask ask = {
		.slot = (uint32_t)(job - a->jobs),
		.type = analyser_type(job),
		.rate = job->rate,
		.duration_ns = duration_ns,
		.titles = job->titles,
		.threads = job->threads != 0,
		.pids = job->pids,
		.npids = job->npids,
		.timeline_bytes =
			job->timeline_fd < 0
				? 0
				: (size_t)a->conf->worker_timeline_bytes,
	};
	int rc = recorder_start(a->captures, &ask, &job->capture);

	if (rc)
		return rc;
	job->make = analyser_name;
	analyser_prepare_fork(a);
	return 0;
}

enum capture_error
analyser_name(const struct analyser *a, const struct analyser_job *job,
              const struct host *host, struct analyser_made *out,
              int *sys_error)
{
	CLEANUP_NAMER struct namer *n =
		capture_namer(job->capture, host, a->symbols);
	int rc = n ? capture_profile(job->capture, n, &out->profile,
	                             &out->quality,
	                             out->checkpoint ? NULL : &out->timeline)
	           : -ENOMEM;

	out->start_ms = capture_start_ms(job->capture);
	if (!rc)
		analyser_list(job, host, n, out);
	*sys_error = rc;
	return rc ? analyser_error(job, rc) : CAPTURE_OK;
}

/* --- engines in a finisher ------------------------------------------------ */

static struct engine_ask
ask_of(const struct analyser *a, const struct analyser_job *job,
       const struct host *host)
{
	struct engine_ask ask = {
		.host = host,
		.symbols = a->symbols,
		.type = analyser_type(job),
		.turn_on = job->set == 1,
		.pids = job->pids,
		.npids = job->npids,
		.known_ms = job->known_ms,
	};

	for (unsigned i = 0; i < WAYS; i++)
		if (ways_of(job->ways, engine_of(job)) >> i & 1)
			ask.program |= way_rows[i].program;
	return ask;
}

/* Returns the error to report; *sys_error is rc for CAPTURE_INTERNAL, and 0 for
 * errors that explain themselves. */
static enum capture_error
error_of(const struct analyser_job *job, int rc, int *sys_error)
{
	static const struct {
		enum way_engine engine;
		int rc;
		const char *unit; /* unit of the type; NULL: any */
		enum capture_error error;
	} rows[] = {
		{ENGINE_BUCKETS, -EPROTO, NULL, CAPTURE_GO_COUNTS},
		{ENGINE_BUCKETS, -EFBIG, NULL, CAPTURE_READING_LARGE},
		{ENGINE_BUCKETS, -ENODATA, "bytes", CAPTURE_GO_NO_MEMORY},
		{ENGINE_BUCKETS, -ENODATA, "nanoseconds", CAPTURE_GO_NO_EVENTS},
		{ENGINE_HEAP, -ENOEXEC, NULL, CAPTURE_NO_HEAP},
	};
	const char *unit = profile_types[analyser_type(job)].unit;
	enum capture_error e = rc ? analyser_error(job, rc) : CAPTURE_OK;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].engine == engine_of(job) && rows[i].rc == rc &&
		    (!rows[i].unit || !strcmp(rows[i].unit, unit)))
			e = rows[i].error;
	*sys_error = e == CAPTURE_INTERNAL ? rc : 0;
	return e;
}

/* Adds the processes that were last reported. */
static int
take_joined(const struct analyser_job *job, void *state)
{
	int32_t pids[WORKER_MAX_PIDS];
	ssize_t n = pread(job->joined_fd, pids, sizeof(pids), 0);

	return n > 0 ? analyser_engine(job)->join(state, pids,
	                                          (size_t)n / sizeof(*pids))
	             : 0;
}

static void
send_passed(const struct analyser *a, const struct analyser_job *job,
            int64_t left_ns)
{
	int64_t left_ms = left_ns > 0 ? left_ns / NS_PER_MS : 0;

	analyser_send(
		a, job,
		(struct msg_progress){
			.phase = WORKER_CAPTURING,
			.elapsed_ms = job->duration_ms - (uint64_t)left_ms,
			.duration_ms = job->duration_ms,
		});
}

/* Waits for the capture's time; *stopped is set if it was ended early. */
static int
pass_time(const struct analyser *a, const struct analyser_job *job, void *state,
          bool *stopped)
{
	struct pollfd event = {job->event_fd, POLLIN, 0};
	int64_t end = clock_mono_ns() + (int64_t)job->duration_ms * NS_PER_MS;
	int64_t left;
	eventfd_t told = 0;
	int rc;

	/* the first look has ended: from now on, everything counts */
	rc = turn_pause();
	while (!rc && told < ANALYSER_STOP &&
	       (left = end - clock_mono_ns()) > 0) {
		int64_t ms = left / NS_PER_MS + 1;

		send_passed(a, job, left);
		if (poll(&event, 1, ms < PROGRESS_MS ? (int)ms : PROGRESS_MS) >
		            0 &&
		    !eventfd_read(job->event_fd, &told))
			rc = take_joined(job, state);
	}
	*stopped = told >= ANALYSER_STOP;
	turn_resume();
	/* some had not run their program yet when they were reported */
	return rc ? rc : take_joined(job, state);
}

enum capture_error
analyser_take(const struct analyser *a, const struct analyser_job *job,
              const struct host *host, struct analyser_made *out,
              int *sys_error)
{
	const struct engine *engine = analyser_engine(job);
	const struct engine_ask ask = ask_of(a, job, host);
	bool stopped = false;
	void *state = NULL;
	int rc = engine->open(&ask, &state);

	if (!rc && (!profile_types[ask.type].gauge ||
	            (engine->counts && engine->counts(state))))
		rc = pass_time(a, job, state, &stopped);
	if (!rc)
		rc = engine->finish(state, &out->profile, &out->quality);
	if (!rc && stopped)
		out->quality.notes |= QUALITY_NOTE_OF(STOPPED);
	if (!rc)
		analyser_list(job, host, NULL, out);
	engine->free(state);
	if (rc == -ENOEXEC && analyser_next(job))
		_exit(ANALYSER_NEXT);
	return error_of(job, rc, sys_error);
}

/* --- successive windows --------------------------------------------------- */

static int
read_last(int fd, struct buf *out)
{
	if (fd < 0)
		return 0;
	return lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, out);
}

static int
write_next(const struct buf *next, int *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-reading", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : fd_write_all(fd, next->p, next->len);

	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

enum capture_error
analyser_grow(const struct analyser *a, const struct analyser_job *job,
              const struct host *host, struct analyser_made *out,
              int *sys_error)
{
	CLEANUP_BUF struct buf last = BUF_INIT(READING_MAX_BYTES + 1);
	CLEANUP_BUF struct buf now = BUF_INIT(READING_MAX_BYTES * 2);
	const struct engine_ask ask = ask_of(a, job, host);
	int rc = read_last(job->in_fd, &last);

	if (!rc)
		rc = analyser_engine(job)->grow(&ask, last.p, last.len, &now,
		                                &out->profile, &out->quality);
	if (!rc)
		out->start_ms = out->profile->time_ns / NS_PER_MS;
	if (!rc)
		rc = write_next(&now, &out->reading);
	return error_of(job, rc, sys_error);
}
