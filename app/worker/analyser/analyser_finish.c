/* The finisher: a child of the analyser that makes one profile and ends. */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/buckets.h"
#include "capture/heap.h"
#include "capture/rename.h"
#include "capture/snapshot.h"
#include "profile/pprof.h"
#include "profile/summary.h"
#include "pull_read.h"
#include "worker/ipc/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define MAX_PROFILE  ((size_t)256 << 20)
#define MAX_TIMELINE ((size_t)64 << 20)

/* --- what was pulled: a body becomes a profile ---------------------------- */

/* Maps the answer privately: it is complete, and no process writes to it any
 * more. */
static int
map_body(int fd, const void **out, size_t *n)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st))
		return -errno;
	*out = "";
	*n = (size_t)st.st_size;
	if (!*n)
		return 0;
	p = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

/* Reads the result of an earlier step, which this step's
 * result will replace. */
static int
take_out(int fd, struct buf *out)
{
	int rc = lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, out);

	if (!rc && (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET)))
		rc = -errno;
	return rc;
}

static enum capture_error
read_pull(const struct analyser_job *job, struct profile **out,
          struct quality *quality, int *sys_error)
{
	struct pull_answer a = {
		.status = job->pull.status,
		.step = job->pull.step,
		.start_ms = job->pull.start_ms,
		.elapsed_ms = job->pull.elapsed_ms,
	};

	CLEANUP_BUF struct buf all = BUF_INIT(MAX_PROFILE);
	int rc = map_body(job->body_fd, &a.p, &a.n);

	/* The mapping stays, since the finisher ends after this. */
	if (!rc && pull_adds(a.step))
		rc = take_out(job->out_fd, &all);
	a.all = all.p;
	a.all_n = all.len;
	*sys_error = rc;
	return rc ? CAPTURE_INTERNAL : pull_read(&a, out, quality);
}

/* --- what programs count by themselves --------------------------------- */

_Static_assert(READING_MAX_BYTES == (size_t)8 << 20, "READING_LARGE's text");

static enum capture_error
error_of(int rc, uint32_t type)
{
	if (!rc)
		return CAPTURE_OK;
	if (rc == -EPROTO)
		return CAPTURE_GO_COUNTS;
	if (rc == -EFBIG)
		return CAPTURE_READING_LARGE;
	if (rc != -ENODATA)
		return analyser_error(rc);
	return type <= BUCKETS_ALLOC ? CAPTURE_GO_NO_MEMORY
	                             : CAPTURE_GO_NO_EVENTS;
}

/* Returns the error to report, without errno for every error that is complete
 * by itself. */
static enum capture_error
failure(int rc, uint32_t type, int *sys_error)
{
	enum capture_error e = error_of(rc, type);

	*sys_error = e == CAPTURE_INTERNAL ? rc : 0;
	return e;
}

/* Adds processes that have joined the service to what is captured. */
typedef int join_processes(void *capture, const int32_t *pids, size_t n);

static int
join_buckets(void *capture, const int32_t *pids, size_t n)
{
	return buckets_join(capture, pids, n);
}

static int
join_heap(void *capture, const int32_t *pids, size_t n)
{
	return heap_join(capture, pids, n);
}

/* Adds those that were last reported. */
static int
take_joined(const struct analyser_job *job, join_processes *join, void *capture)
{
	int32_t pids[WORKER_MAX_PIDS];
	ssize_t n = pread(job->joined_fd, pids, sizeof(pids), 0);

	return n > 0 ? join(capture, pids, (size_t)n / sizeof(*pids)) : 0;
}

/* Waits for the capture's time; *stopped tells that it was ended early. */
static int
pass_time(const struct analyser *a, const struct analyser_job *job,
          join_processes *join, void *capture, bool *stopped)
{
	struct pollfd event = {job->event_fd, POLLIN, 0};
	int64_t end = clock_mono_ns() + (int64_t)job->duration_ms * NS_PER_MS;
	int64_t left;
	eventfd_t told = 0;
	int rc = 0;

	/* the first look is over: whatever happens from now on is counted */
	analyser_tell(a, job,
	              (struct msg_progress){.phase = WORKER_CAPTURING,
	                                    .duration_ms = job->duration_ms});
	while (!rc && told < ANALYSER_STOP &&
	       (left = end - clock_mono_ns()) > 0) {
		if (poll(&event, 1, (int)(left / NS_PER_MS) + 1) > 0 &&
		    !eventfd_read(job->event_fd, &told))
			rc = take_joined(job, join, capture);
	}
	*stopped = told >= ANALYSER_STOP;
	/* some ran no such program yet when they were reported */
	return rc ? rc : take_joined(job, join, capture);
}

/* Makes a profile of what Go programs count, for the requested time or until
 * the job is stopped. */
static int
read_buckets(const struct analyser *a, const struct analyser_job *job,
             const struct host *host, struct profile **out,
             struct quality *quality, bool *stopped)
{
	CLEANUP_BUCKETS struct buckets *b = NULL;
	const struct buckets_ask ask = {job->of, job->set == 1, job->pids,
	                                job->npids, 0};
	int rc = buckets_open(host, &ask, &b);

	if (!rc && job->of != BUCKETS_MEMORY)
		rc = pass_time(a, job, join_buckets, b, stopped);
	return rc ? rc : buckets_finish(b, out, quality);
}

/* Makes one of what other programs count of their memory. */
static int
read_heap(const struct analyser *a, const struct analyser_job *job,
          const struct host *host, struct profile **out,
          struct quality *quality, bool *stopped)
{
	CLEANUP_HEAP struct heap *h = NULL;
	const struct heap_ask ask = {job->of == BUCKETS_MEMORY, job->pids,
	                             job->npids};
	int rc = heap_open(host, &ask, &h);

	if (!rc && !ask.in_use)
		rc = pass_time(a, job, join_heap, h, stopped);
	return rc ? rc : heap_finish(h, a->symbols, out, quality);
}

/* Makes a profile of what programs count by themselves. */
static enum capture_error
read_counts(const struct analyser *a, const struct analyser_job *job,
            const struct host *host, struct profile **out,
            struct quality *quality, int *sys_error)
{
	bool stopped = false, heap = job->kind == WORKER_HEAP;
	int rc = job->of >= BUCKETS_TYPES ? -EINVAL
	         : heap                   ? -ENOEXEC
	                : read_buckets(a, job, host, out, quality, &stopped);

	if (rc == -ENOEXEC && job->of <= BUCKETS_ALLOC) {
		heap = true;
		rc = read_heap(a, job, host, out, quality, &stopped);
	}
	if (!rc && stopped)
		quality->notes |= QUALITY_NOTE_OF(STOPPED);
	*sys_error = 0;
	return heap && rc == -ENODATA ? CAPTURE_NO_HEAP
	                              : failure(rc, job->of, sys_error);
}

/* --- windows side by side --------------------------------------------------
 */

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

/* Makes a profile of what Go programs counted since the last reading, and the
 * reading for the next. */
static enum capture_error
read_growth(const struct analyser_job *job, const struct host *host,
            struct profile **out, struct quality *quality, int *next,
            int *sys_error)
{
	CLEANUP_BUF struct buf last = BUF_INIT(READING_MAX_BYTES + 1);
	CLEANUP_BUF struct buf now = BUF_INIT(READING_MAX_BYTES * 2);
	const struct buckets_ask ask = {job->of, job->set == 1, job->pids,
	                                job->npids, job->known_ms};
	int rc = job->of < BUCKETS_TYPES && job->of != BUCKETS_MEMORY
	                 ? read_last(job->in_fd, &last)
	                 : -EINVAL;

	if (!rc)
		rc = buckets_grown(host, &ask, last.p, last.len, &now, out,
		                   quality);
	if (!rc)
		rc = write_next(&now, next);
	return failure(rc, job->of, sys_error);
}

/* --- writing what was made ------------------------------------------------ */

static int
write_profile(const struct profile *p, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_PROFILE);
	int rc = pprof_encode(p, &bytes);

	if (!rc)
		rc = fd_write_all(fd, bytes.p, bytes.len);
	if (!rc)
		fd_start_writing(fd);
	return rc;
}

/* Writes the timeline; false when that failed, which is no reason to fail the
 * profile. */
static bool
write_timeline(const struct timeline *t, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_TIMELINE);

	if (!t || timeline_encode(t, &bytes) ||
	    fd_write_all(fd, bytes.p, bytes.len))
		return false;
	fd_start_writing(fd);
	return true;
}

static int
write_summary(const struct profile *p, int *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_FD int fd = memfd_create("stoker-summary", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;

	if (!rc)
		rc = tree_new(p, profile_type_index(p, NULL), &t);
	if (!rc)
		rc = summary_top(t, SUMMARY_FUNCTIONS, &text);
	if (!rc)
		rc = fd_write_all(fd, text.p, text.len);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

static int
tell_done(const struct analyser *a, const struct analyser_job *job,
          struct msg_done *done, int summary, int reading)
{
	int fds[] = {summary, reading};

	done->type = MSG_DONE;
	done->quality.worker_cpu_ns +=
		clock_cpu_ns(); /* CPU time since the fork */
	memcpy(done->id, job->id, sizeof(done->id));
	return msg_send(a->socket, done, sizeof(*done), fds,
	                reading < 0 ? 1 : ARRAY_LEN(fds));
}

/* Symbolizes a stored profile. We wrote it, but a file that was on disk for
 * years is not trusted either. */
static int
rename_stored(const struct analyser *a, const struct analyser_job *job,
              const struct host *host, struct profile **out,
              struct quality *quality)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_PROFILE);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *in = NULL;
	int rc = lseek(job->in_fd, 0, SEEK_SET) ? -errno : 0;

	if (!rc)
		rc = fd_read_all(job->in_fd, &bytes);
	if (!rc)
		rc = pprof_decode(bytes.p, bytes.len, MAX_PROFILE, &in, &why);
	return rc ? rc : rename_profile(host, a->symbols, in, out, quality);
}

static bool
counts_by_itself(const struct analyser_job *job)
{
	return job->kind == WORKER_BUCKETS || job->kind == WORKER_HEAP;
}

static int
name_capture(const struct analyser *a, const struct analyser_job *job,
             const struct host *host, struct profile **out,
             struct quality *quality, struct timeline **timeline)
{
	CLEANUP_NAMER struct namer *n =
		capture_namer(job->capture, host, a->symbols);

	return n ? capture_profile(job->capture, n, out, quality, timeline)
	         : -ENOMEM;
}

static enum capture_error
make_profile(const struct analyser *a, const struct analyser_job *job,
             const struct host *host, struct profile **out,
             struct quality *quality, struct timeline **timeline, int *reading,
             int *sys_error)
{
	struct snapshot_ask ask = {
		.of = job->of, .pids = job->pids, .npids = job->npids};
	int rc;

	if (job->body_fd >= 0)
		return read_pull(job, out, quality, sys_error);
	if (counts_by_itself(job))
		return read_counts(a, job, host, out, quality, sys_error);
	if (job->kind == WORKER_GROWTH)
		return read_growth(job, host, out, quality, reading, sys_error);
	if (job->in_fd >= 0) {
		*sys_error = rc = rename_stored(a, job, host, out, quality);
		return rc ? CAPTURE_INTERNAL : CAPTURE_OK;
	}
	if (job->capture)
		rc = name_capture(a, job, host, out, quality, timeline);
	else
		rc = snapshot_profile(host, &ask, a->symbols, out, quality);
	*sys_error = rc;
	return rc ? analyser_error(rc) : CAPTURE_OK;
}

static enum capture_error
finish(const struct analyser *a, const struct analyser_job *job,
       const struct host *host, int fd, bool checkpoint, int *sys_error)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TIMELINE struct timeline *t = NULL;
	CLEANUP_FD int summary = -1, reading = -1;
	struct msg_done done = {.checkpoint = checkpoint,
	                        .start_ms = job->start_ms};
	enum capture_error e = make_profile(a, job, host, &p, &done.quality,
	                                    checkpoint ? NULL : &t, &reading,
	                                    sys_error);
	int rc;

	if (e)
		return e;
	*sys_error = rc = write_profile(p, fd);
	if (rc)
		return CAPTURE_WRITE;
	*sys_error = rc = write_summary(p, &summary);
	done.timeline = write_timeline(t, job->timeline_fd);
	done.value = profile_total(p, profile_type_index(p, NULL));
	if (job->kind == WORKER_GROWTH)
		done.start_ms = p->time_ns / NS_PER_MS;
	if (!rc)
		*sys_error = rc = tell_done(a, job, &done, summary, reading);
	return rc ? CAPTURE_INTERNAL : CAPTURE_OK;
}

struct finisher {
	const struct analyser_job *job;
	int fd;
	bool checkpoint;
};

static bool
be_finisher(const struct analyser *a, const struct host *host, void *arg)
{
	const struct finisher *f = arg;
	int sys_error;
	enum capture_error e =
		finish(a, f->job, host, f->fd, f->checkpoint, &sys_error);

	if ((e == CAPTURE_NOT_GO || e == CAPTURE_NO_HEAP) &&
	    counts_by_itself(f->job) && f->job->instead < CAPTURE_OFS)
		_exit(ANALYSER_SAMPLE);
	if (e)
		analyser_fail(a, f->job, f->checkpoint, e, sys_error);
	return !e;
}

/* Reports debug files. Nothing waits for this report, and a scheduler that is
 * gone is noticed elsewhere. */
static void
tell_debugs(const struct analyser *a, const struct host_debugs *debugs)
{
	struct msg_debug m = {.type = MSG_DEBUG, .debugs = *debugs};

	if (debugs->n && msg_send(a->socket, &m, sizeof(m), NULL, 0))
		log_debug("nobody hears of debug files");
}

/* Runs in the child, so that a crash or endless DWARF costs
 * its own work only. */
static void
be_child(const struct analyser *a, int channel, int news, analyser_work *work,
         void *arg)
{
	struct host_debugs debugs = {.n = 0};
	struct host host = worker_host(&channel);

	if (*a->conf->symbols_debuginfod)
		host.debugs = &debugs;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (sandbox_limit_cpu(a->conf->worker_finish_cpu))
		_exit(1);
	if (work(a, &host, arg) && symbols_cache_tell(a->symbols, news))
		log_debug("symbols are not kept");
	tell_debugs(a, &debugs);
	_exit(0);
}

static struct analyser_news *
news_of(struct analyser *a, pid_t child)
{
	for (size_t i = 0; i < ARRAY_LEN(a->news); i++)
		if (a->news[i].pid == child)
			return &a->news[i];
	return NULL;
}

static int
open_channel(struct analyser *a)
{
	struct host_ask ask = {.op = HOST_CHANNEL};

	return a->channel < 0 ? host_fd(&a->host, &ask, &a->channel) : 0;
}

void
analyser_prepare_fork(struct analyser *a)
{
	if (open_channel(a))
		log_debug("no channel ahead of time");
}

int
analyser_fork(struct analyser *a, analyser_work *work, void *arg, pid_t *out)
{
	CLEANUP_FD int news = memfd_create("stoker-symbols", MFD_CLOEXEC);
	struct analyser_news *slot = news_of(a, 0);
	int rc = news < 0 ? -errno : open_channel(a);
	CLEANUP_FD int channel = TAKE_FD(a->channel);
	pid_t pid;

	if (rc)
		return rc;
	if (!slot)
		return -EBUSY;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		be_child(a, channel, news, work, arg);
	*slot = (struct analyser_news){pid, TAKE_FD(news)};
	*out = pid;
	return 0;
}

int
analyser_fork_finisher(struct analyser *a, const struct analyser_job *job,
                       int fd, bool checkpoint, pid_t *out)
{
	struct finisher f = {job, fd, checkpoint};

	return analyser_fork(a, be_finisher, &f, out);
}

void
analyser_learn(struct analyser *a, pid_t child, bool good)
{
	struct analyser_news *slot = news_of(a, child);
	int rc;

	if (!slot)
		return;
	rc = good ? symbols_cache_learn(a->symbols, slot->fd) : 0;
	if (rc)
		log_debug("symbols are not kept: %s", strerror(-rc));
	close(slot->fd);
	*slot = (struct analyser_news){0};
}
