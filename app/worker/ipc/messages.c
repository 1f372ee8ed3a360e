#include "messages.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/service_text.h"

#include <errno.h>
#include <string.h>

static const struct {
	enum check check;
	const char *code, *text;
} errors[] = {
	{CHECKS, "", ""},
#define CAPTURE_ERROR(code, check, name, text) {check, name, text},
#include "capture_error.def"
#undef CAPTURE_ERROR
};

/* Returns the row of errors to print. */
static enum capture_error
row_of(enum capture_error e)
{
	return e < CAPTURE_ROWS     ? e
	       : e < CAPTURE_ERRORS ? CAPTURE_UNSUPPORTED
	                            : CAPTURE_INTERNAL;
}

const char *
capture_error_code(enum capture_error e)
{
	return errors[row_of(e)].code;
}

const char *
capture_error_text(enum capture_error e)
{
	return errors[row_of(e)].text;
}

enum check
capture_error_check(enum capture_error e)
{
	return e < CAPTURE_ROWS || e >= CAPTURE_ERRORS
	               ? errors[row_of(e)].check
	               : (enum check)(e - CAPTURE_ROWS);
}

void
capture_error_explain(enum capture_error e, const struct finding *findings,
                      const char *service, struct buf *out)
{
	enum check c = capture_error_check(e);

	if (!findings || c == CHECKS || !finding_explain(&findings[c], out))
		text_for_service(capture_error_text(e), service, out);
}

int
worker_ask(int sock, const struct host_ask *ask, struct host_reply *reply,
           int fds[HOST_MAX_FDS], size_t *nfds)
{
	size_t came = HOST_MAX_FDS;
	ssize_t n;
	int rc = msg_send(sock, ask, sizeof(*ask), fds, *nfds);

	if (rc)
		return rc;
	n = msg_recv(sock, reply, sizeof(*reply), fds, &came);
	if (n < 0)
		return (int)n;
	if (n == 0)
		return -EPIPE;
	*nfds = came;
	reply->text[HOST_MAX_PATH - 1] = '\0';
	return n == sizeof(*reply) ? 0 : -EBADMSG;
}

static int
send_may(int events, struct msg_may *m, const int32_t *pids,
         const uint64_t *starts, size_t n)
{
	if (n > WORKER_MAX_PIDS)
		return -E2BIG;
	m->npids = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		m->processes[i] = (struct msg_process){
			.start_time = starts ? starts[i] : 0, .pid = pids[i]};
	return msg_send(events, m, MSG_MAY_BYTES(n), NULL, 0);
}

int
worker_may(int events, enum worker_may what, uint64_t duration_ms,
           const int32_t *pids, const uint64_t *starts, size_t n)
{
	struct msg_may m = {
		.type = MSG_MAY,
		.duration_ms = duration_ms,
		.what = what,
	};

	return send_may(events, &m, pids, starts, n);
}

int
worker_may_look(int events, const char *id, const int32_t *pids,
                const uint64_t *starts, size_t n)
{
	struct msg_may m = {.type = MSG_MAY, .what = WORKER_MAY_LOOK};

	if (strlen(id) >= sizeof(m.id))
		return -ENAMETOOLONG;
	memcpy(m.id, id, strlen(id) + 1);
	return send_may(events, &m, pids, starts, n);
}

int
worker_programs(int sock, const int32_t *pids, size_t n, struct buf *out)
{
	struct host_ask ask = {.op = HOST_PROGRAMS, .count = (uint32_t)n};
	struct host host = worker_host(&sock);
	CLEANUP_FD int fd = -1;
	int rc;

	if (n > HOST_MAX_PROGRAMS)
		return -E2BIG;
	memcpy(ask.list, pids, n * sizeof(*pids));
	rc = host_fd(&host, &ask, &fd);
	return rc ?: fd_read_all(fd, out);
}

void
worker_alive(int sock, int64_t watchdog_s, int64_t *next_ns)
{
	struct host_ask ask = {.op = HOST_ALIVE};
	struct host host = worker_host(&sock);
	struct host_reply reply;
	int64_t now = clock_mono_ns();

	if (now < *next_ns)
		return;
	if (host_answer(&host, &ask, &reply))
		log_debug("the opener takes no messages");
	*next_ns = clock_mono_ns() + watchdog_s * WORKER_ALIVE_NS;
}

int
worker_pid_file(int sock, const char *path, int32_t *out)
{
	struct host_ask ask = {.op = HOST_PID_FILE};
	struct host host = worker_host(&sock);
	uint32_t pid;
	int rc;

	if (strlen(path) >= sizeof(ask.path))
		return -ENAMETOOLONG;
	memcpy(ask.path, path, strlen(path) + 1);
	rc = host_value(&host, &ask, &pid);
	if (!rc)
		*out = (int32_t)pid;
	return rc;
}

int
worker_container_file(int sock, uint32_t row, const char *path, uid_t owner,
                      struct buf *out)
{
	struct host_ask ask = {
		.op = HOST_CONTAINER_FILE,
		.count = row,
		.size = owner,
	};
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	int rc;

	if (strlen(path) >= sizeof(ask.path))
		return -ENAMETOOLONG;
	memcpy(ask.path, path, strlen(path) + 1);
	rc = worker_ask(sock, &ask, &reply, fds, &nfds);
	if (!rc)
		rc = reply.error;
	if (!rc && nfds)
		rc = fd_read_all(fds[0], out);
	else if (!rc)
		buf_puts(out, reply.text);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return rc ?: buf_err(out);
}

static int
ask_over_socket(void *arg, const struct host_ask *ask, struct host_reply *reply,
                int fds[HOST_MAX_FDS], size_t *nfds)
{
	return worker_ask(*(const int *)arg, ask, reply, fds, nfds);
}

struct host
worker_host(int *sock)
{
	return (struct host){.ask = ask_over_socket, .arg = sock};
}
