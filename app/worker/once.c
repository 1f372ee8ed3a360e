#include "once.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "worker/scheduler/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static const char once_id[] = "once";

struct once_run {
	const struct once *once;
	int ask, events, signals;
	int analyser; /* its capture socket; -1: none yet */
	bool tty;
	bool done;
	int status;
};

/* Runs the check that may explain an error, except the store's, since there is
 * no database. */
static void
look_for_cause(const struct once_run *r, enum check c, struct finding *out)
{
	CLEANUP_FD int proc_fd =
		open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ask = r->ask, rc;
	struct selftest t = {.host = worker_host(&ask), .proc_fd = &proc_fd};

	if (c == CHECKS || c == CHECK_STORE || proc_fd < 0)
		return;
	rc = selftest_try(&t, c, out);
	if (rc)
		log_debug("%s: %s", check_name(c), strerror(-rc));
}

static int
fail(struct once_run *r, enum capture_error e, int sys_error)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct finding findings[CHECKS + 1] = {0};
	enum check c = capture_error_check(e);

	look_for_cause(r, c, &findings[c]);
	capture_error_explain(e, findings, NULL, &text);
	log_err("%s%s%s", buf_str(&text), sys_error ? ": " : "",
	        sys_error ? strerror(-sys_error) : "");
	r->done = true;
	r->status = 1;
	return 0;
}

/* --- the report ----------------------------------------------------------- */

static void
print_top(const json_t *top)
{
	size_t i;
	json_t *row;

	printf("%7s %7s %8s  %s\n", "self%", "total%", "samples", "function");
	json_array_foreach(top, i, row) {
		if (i == ONCE_TOP)
			return;
		printf("%7.2f %7.2f %8s  %s (%s)\n",
		       json_number_value(json_object_get(row, "selfPct")),
		       json_number_value(json_object_get(row, "cumulativePct")),
		       json_member(row, "sampleCount"),
		       json_member(row, "funcName"),
		       json_member(row, "package"));
	}
}

static int
report(const struct quality *q, int summary)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf lines = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *read = NULL;
	int rc = lseek(summary, 0, SEEK_SET) ? -errno : 0;

	if (!rc)
		rc = fd_read_all(summary, &text);
	if (rc)
		return rc;
	read = json_loadb(text.p, text.len, 0, NULL);
	if (!read)
		return -EBADMSG;
	quality_text(q, &lines);
	puts("quality");
	fputs(buf_str(&lines), stdout);
	print_top(json_object_get(read, "top"));
	return fflush(stdout) ? -errno : 0;
}

/* --- messages ------------------------------------------------------------- */

static int
start(const struct once_run *r)
{
	int rc = worker_may_look(r->events, once_id, r->once->pids, NULL,
	                         r->once->npids);
	struct msg_start m = {
		.type = MSG_START,
		.ways = r->once->ways,
		.rate = r->once->rate,
		.duration_ms = r->once->duration_ms,
		.npids = r->once->npids,
	};

	memcpy(m.id, once_id, sizeof(once_id));
	memcpy(m.pids, r->once->pids, sizeof(m.pids));
	return rc ? rc
	          : msg_send(r->analyser, &m, sizeof(m), &r->once->out_fd, 1);
}

static int
stop(const struct once_run *r)
{
	struct msg_capture m = {.type = MSG_STOP};

	memcpy(m.id, once_id, sizeof(once_id));
	return r->analyser < 0 ? -EPIPE
	                       : msg_send(r->analyser, &m, sizeof(m), NULL, 0);
}

/* Takes an event. A second analyser means that the first one died during this
 * capture. */
static int
take_event(struct once_run *r)
{
	struct msg_analyser m;
	int fds[2] = {-1, -1};
	size_t nfds = 2;
	ssize_t n = msg_recv(r->events, &m, sizeof(m), fds, &nfds);
	int rc;

	if (n != sizeof(m) || nfds != 2)
		return n < 0 ? (int)n : -EPIPE;
	close(fds[1]);
	if (r->analyser >= 0) {
		close(fds[0]);
		return fail(r, CAPTURE_ANALYSER_DIED, 0);
	}
	r->analyser = fds[0];
	rc = start(r);
	return rc == -EPIPE ? 0 : rc; /* it died: another will come */
}

static void
show_progress(const struct once_run *r, const struct msg_progress *m)
{
	if (r->tty)
		fprintf(stderr, "\r%5.1f of %.1f s, %lu samples\033[K%s",
		        (double)m->elapsed_ms / 1000,
		        (double)m->duration_ms / 1000,
		        (unsigned long)m->samples,
		        m->phase == WORKER_FINISHING ? "\n" : "");
}

static int
take_answer(struct once_run *r)
{
	union {
		struct msg_progress progress;
		struct msg_done done;
	} m;
	CLEANUP_FD int fd = -1;
	size_t nfds = 1;
	ssize_t n = msg_recv(r->analyser, &m, sizeof(m), &fd, &nfds);

	if (n <= 0) /* an event will announce the next one */
		return n == 0 || n == -ECONNRESET ? 0 : (int)n;
	if (n == sizeof(m.progress)) {
		show_progress(r, &m.progress);
		return 0;
	}
	if (n != sizeof(m.done))
		return -EBADMSG;
	if (m.done.error)
		return fail(r, m.done.error, m.done.sys_error);
	r->done = true;
	return report(&m.done.quality, fd);
}

static int
take_signal(const struct once_run *r)
{
	struct signalfd_siginfo si;

	if (read(r->signals, &si, sizeof(si)) != sizeof(si))
		return -errno;
	return stop(r);
}

static int
turn(struct once_run *r)
{
	struct pollfd fds[] = {
		{r->events, POLLIN, 0},
		{r->signals, POLLIN, 0},
		{r->analyser, POLLIN, 0}, /* -1 is ignored */
	};
	int rc = 0;

	if (poll(fds, ARRAY_LEN(fds), -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[2].revents & POLLIN)
		rc = take_answer(r);
	if (!rc && fds[0].revents)
		rc = take_event(r);
	if (!rc && fds[1].revents)
		rc = take_signal(r);
	return rc;
}

static int
open_signals(int *out)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return -errno;
	*out = signalfd(-1, &set, SFD_CLOEXEC);
	return *out < 0 ? -errno : 0;
}

int
once_run(void *arg, const struct conf *conf,
         const struct worker_sockets *sockets)
{
	struct once_run r = {
		.once = arg,
		.ask = sockets->ask,
		.events = sockets->events,
		.analyser = -1,
		.tty = isatty(STDERR_FILENO),
	};
	int rc = open_signals(&r.signals);

	(void)conf;
	while (!rc && !r.done)
		rc = turn(&r);
	close_ptr(&r.analyser);
	close_ptr(&r.signals);
	if (rc)
		log_err("%s", strerror(-rc));
	return rc ? 1 : r.status;
}
