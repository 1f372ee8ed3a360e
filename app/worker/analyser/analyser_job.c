#include "analyser.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

enum capture_error
analyser_error(const struct analyser_job *job, int rc)
{
	switch (rc) {
	case -EPERM:
		return CAPTURE_PERF_CAPABILITY;
	case -EACCES:
		return CAPTURE_PERF_PARANOID;
	case -EXDEV:
		return CAPTURE_PTRACE_CAPABILITY;
	case -ENOEXEC:
		return CAPTURE_NOT_GO;
	case -EPROTO:
		return CAPTURE_GO_UNKNOWN;
	case -ESRCH:
		return CAPTURE_NO_PROCESS;
	case -ETIMEDOUT:
		return CAPTURE_HELD;
	case -EBUSY:
		return CAPTURE_BUSY;
	case -ENOMEM:
		return CAPTURE_NO_MEMORY;
	case -EMFILE:
	case -ENFILE:
		return CAPTURE_NO_FILES;
	case -ENOSYS:
		return CAPTURE_PERF_FILTERED;
	case -EDQUOT:
		return CAPTURE_INUSE_COSTLY;
	case -EPROTONOSUPPORT:
		return job ? capture_error_unsupported(
				     way_rows[ways_first(job->ways)].check)
		           : CAPTURE_UNSUPPORTED;
	case -ENOENT:
	case -EOPNOTSUPP:
	case -EINVAL:
		return CAPTURE_PERF_UNSUPPORTED;
	default:
		return CAPTURE_INTERNAL;
	}
}

struct analyser_job *
analyser_job(struct analyser *a, const char *id)
{
	for (unsigned i = 0; i < CAPTURES_MAX; i++)
		if (!strcmp(a->jobs[i].id, id))
			return &a->jobs[i];
	return NULL;
}

void
analyser_clear(struct analyser_job *job)
{
	close_ptr(&job->out_fd);
	close_ptr(&job->timeline_fd);
	close_ptr(&job->body_fd);
	close_ptr(&job->event_fd);
	close_ptr(&job->joined_fd);
	close_ptr(&job->in_fd);
	*job = (struct analyser_job)ANALYSER_NO_JOB;
}

void
analyser_send(const struct analyser *a, const struct analyser_job *job,
              struct msg_progress m)
{
	m.type = MSG_PROGRESS;
	memcpy(m.id, job->id, sizeof(m.id));
	if (msg_send(a->socket, &m, sizeof(m), NULL, 0))
		log_debug("%s: the scheduler takes no messages", job->id);
}

void
analyser_fail(const struct analyser *a, const struct analyser_job *job,
              bool checkpoint, enum capture_error error, int sys_error)
{
	struct msg_done done = {
		.type = MSG_DONE,
		.checkpoint = checkpoint,
		.error = error,
		.sys_error = sys_error,
		.attempt = job->attempt,
		.start_ms = job->start_ms,
	};

	/* If the opener has died, all processes end: the next worker gets the
	 * job and runs it again. */
	if (sys_error == -EPIPE || sys_error == -ECONNRESET)
		return;
	memcpy(done.id, job->id, sizeof(done.id));
	if (msg_send(a->socket, &done, sizeof(done), NULL, 0))
		log_debug("%s failed, and the scheduler takes no messages",
		          job->id);
}
