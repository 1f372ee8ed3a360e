/* The finisher's side of what Go programs count of themselves. */
#include "analyser.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/buckets.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

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

/* Every other error says all there is to say: strerror(3) would confuse. */
static enum capture_error
failure(int rc, uint32_t type, int *sys_error)
{
	enum capture_error e = error_of(rc, type);

	*sys_error = e == CAPTURE_INTERNAL ? rc : 0;
	return e;
}

/* Takes in those who have joined the service, as they were told of last. */
static int
take_joined(const struct analyser_job *job, struct buckets *b)
{
	int32_t pids[WORKER_MAX_PIDS];
	ssize_t n = pread(job->joined_fd, pids, sizeof(pids), 0);

	return n > 0 ? buckets_join(b, pids, (size_t)n / sizeof(*pids)) : 0;
}

/* Whether it was stopped before its time, in *stopped. */
static int
pass_time(const struct analyser_job *job, struct buckets *b, bool *stopped)
{
	struct pollfd event = {job->event_fd, POLLIN, 0};
	int64_t end = clock_mono_ns() + (int64_t)job->duration_ms * NS_PER_MS;
	int64_t left;
	eventfd_t told = 0;
	int rc = 0;

	while (!rc && told < ANALYSER_STOP &&
	       (left = end - clock_mono_ns()) > 0) {
		if (poll(&event, 1, (int)(left / NS_PER_MS) + 1) > 0 &&
		    !eventfd_read(job->event_fd, &told))
			rc = take_joined(job, b);
	}
	*stopped = told >= ANALYSER_STOP;
	/* some ran no Go program as yet when they were told of */
	return rc ? rc : take_joined(job, b);
}

enum capture_error
analyser_read_buckets(const struct analyser_job *job, const struct host *host,
                      struct profile **out, struct quality *quality,
                      int *sys_error)
{
	CLEANUP_BUCKETS struct buckets *b = NULL;
	const struct buckets_ask ask = {job->of, job->set == 1, job->pids,
	                                job->npids, 0};
	bool stopped = false;
	int rc = job->of < BUCKETS_TYPES ? buckets_open(host, &ask, &b)
	                                 : -EINVAL;

	if (!rc && job->of != BUCKETS_MEMORY)
		rc = pass_time(job, b, &stopped);
	if (!rc)
		rc = buckets_finish(b, out, quality);
	if (!rc && stopped)
		quality->notes |= QUALITY_NOTE_OF(STOPPED);
	return failure(rc, job->of, sys_error);
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

enum capture_error
analyser_read_growth(const struct analyser_job *job, const struct host *host,
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
