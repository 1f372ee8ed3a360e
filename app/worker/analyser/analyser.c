#include "analyser.h"

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/sandbox.h"
#include "worker/ipc/pull_pages.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PROGRESS_NS NS_PER_S
#define TREES_SHARE 2         /* the trees get this fraction: one half */
#define HEAP_SPARE  (4 << 20) /* unused memory that the heap keeps, */
#define HEAP_STEP   (1 << 18) /* and by how much it grows */
#define MAX_RINGS   (CAPTURES_MAX_SAMPLERS * 256)

/* Descriptors of the longest message. */
#define MESSAGE_FDS (2 + WORKER_MAX_PUSHED)

enum { SOCKET, SIGNALS, RINGS }; /* sources of events */

_Static_assert(CAPTURES_MAX == WORKER_MAX_CAPTURES, "slots are blamed");

/* --- messages of the scheduler -------------------------------------------- */

static bool
id_fits(const char id[static ID_MAX])
{
	return id[0] && memchr(id, '\0', ID_MAX);
}

/* Opens the descriptors of a finisher that waits for a capture's time. */
static int
open_event(struct analyser_job *job)
{
	if (job->event_fd >= 0)
		return 0;
	job->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	job->joined_fd = memfd_create("stoker-joined", MFD_CLOEXEC);
	return job->event_fd < 0 || job->joined_fd < 0 ? -errno : 0;
}

/* Starts a job by the first of its ways. Engines other than the recorder do all
 * their work in a finisher. */
static void
start(struct analyser *a, struct analyser_job *job)
{
	int rc;

	memcpy(a->blame->ids[job - a->jobs], job->id, ID_MAX);
	if (analyser_engine(job))
		rc = open_event(job)
		             ?: analyser_fork_finisher(a, job, job->out_fd,
		                                       false, &job->finisher);
	else
		rc = analyser_record(a, job,
		                     job->duration_ms * (uint64_t)NS_PER_MS);
	a->progress_ns = 0; /* clients wait for its first PROGRESS */
	if (rc) {
		analyser_fail(a, job, false, analyser_error(job, rc), rc);
		analyser_clear(job);
	}
}

/* Hides a job whose attempt was given up, and which is still being finished,
 * from the messages about the next attempt. */
static void
pass_over(struct analyser *a, const char *id, uint32_t attempt)
{
	struct analyser_job *old = analyser_job(a, id);

	if (old && old->attempt != attempt)
		old->id[0] = '-';
}

/* Takes START or GROW. */
static void
take_start(struct analyser *a, const struct msg_start *m, int fds[static 2])
{
	struct analyser_job new = ANALYSER_NO_JOB, *job;

	pass_over(a, m->id, m->attempt);
	if (!analyser_take_ask(&new, m) || fds[0] < 0 ||
	    analyser_job(a, m->id)) {
		analyser_fail(a, &new, false, CAPTURE_BAD_START, 0);
		return;
	}
	job = analyser_job(a, "");
	if (!job) {
		analyser_fail(a, &new, false, CAPTURE_BUSY, 0);
		return;
	}
	new.make = m->type == MSG_GROW ? analyser_grow : analyser_take;
	new.start_ms = clock_wall_ms();
	new.out_fd = TAKE_FD(fds[0]);
	*(m->type == MSG_GROW ? &new.in_fd : &new.timeline_fd) =
		TAKE_FD(fds[1]);
	*job = new;
	start(a, job);
}

/* Takes an answer to parse. A capture whose first step has just ended may be
 * sent again, and gets another slot. */
static void
take_pull(struct analyser *a, const struct msg_pull *m, int fds[static 2])
{
	struct analyser_job none = ANALYSER_NO_JOB, *job = analyser_job(a, "");
	int rc;

	if (!id_fits(m->id))
		return;
	memcpy(none.id, m->id, ID_MAX);
	if (!job || fds[0] < 0 || fds[1] < 0 || m->step >= PULL_STEPS) {
		analyser_fail(a, &none, false,
		              job ? CAPTURE_BAD_START : CAPTURE_BUSY, 0);
		return;
	}
	*job = none;
	job->out_fd = TAKE_FD(fds[0]);
	job->body_fd = TAKE_FD(fds[1]);
	job->make = analyser_read;
	job->pull = *m;
	job->start_ms = m->start_ms;
	job->attempt = m->attempt;
	rc = analyser_fork_finisher(a, job, job->out_fd, false, &job->finisher);
	if (rc) {
		analyser_fail(a, job, false, analyser_error(job, rc), rc);
		analyser_clear(job);
	}
}

static void
take_checkpoint(struct analyser *a, struct analyser_job *job, int fd)
{
	/* it has not begun, or the earlier child is still writing */
	int rc = -EBUSY;

	if (!job->capture)
		return; /* DONE has been sent */
	if (!job->checkpointer && capture_elapsed_ns(job->capture))
		rc = fd < 0 ? -EBADF
		            : analyser_fork_finisher(a, job, fd, true,
		                                     &job->checkpointer);
	if (rc)
		analyser_fail(a, job, true, CAPTURE_INTERNAL, rc);
}

static void
unwatch(struct analyser *a, struct analyser_job *job)
{
	recorder_remove(a->captures, TAKE(job->capture));
	analyser_clear(job);
}

static void
signal_finisher(const struct analyser_job *job, uint64_t what)
{
	if (job->event_fd >= 0 && eventfd_write(job->event_fd, what))
		log_debug("%s: the finisher takes no messages", job->id);
}

static void
pass_joined(const struct analyser_job *job, const int32_t *pids, size_t n)
{
	size_t size = n * sizeof(*pids);

	if (job->joined_fd < 0)
		return;
	if (pwrite(job->joined_fd, pids, size, 0) != (ssize_t)size ||
	    ftruncate(job->joined_fd, (off_t)size))
		log_debug("%s: processes that joined are left out", job->id);
	signal_finisher(job, 1);
}

static void
take_capture(struct analyser *a, const struct msg_capture *m, int fd)
{
	struct analyser_job *job = id_fits(m->id) ? analyser_job(a, m->id)
	                                          : NULL;

	if (m->type == MSG_CUT)
		analyser_cut(a);
	if (!job)
		return;
	if (m->type == MSG_CHECKPOINT)
		take_checkpoint(a, job, fd);
	else if (m->type == MSG_STOP && job->watch)
		unwatch(a, job);
	else if (m->type == MSG_STOP && job->capture)
		capture_stop(job->capture);
	else if (m->type == MSG_STOP)
		signal_finisher(job, ANALYSER_STOP);
}

/* Lists the debug files of a message; false if a text has no NUL. */
static bool
list_pushed(const struct msg_symbolize *m, const int *fds,
            struct rename_pushed out[static WORKER_MAX_PUSHED])
{
	for (uint32_t i = 0; i < m->npushed; i++) {
		const struct msg_pushed *row = &m->pushed[i];

		out[i] = (struct rename_pushed){row->wanted, row->build_id,
		                                fds[i], false, false};
		if (!memchr(row->wanted, '\0', sizeof(row->wanted)) ||
		    !memchr(row->build_id, '\0', sizeof(row->build_id)))
			return false;
	}
	return true;
}

/* Takes a stored profile to symbolize. If its finisher has not ended yet, the
 * analyser is busy. */
static void
take_symbolize(struct analyser *a, const struct msg_symbolize *m,
               int fds[static MESSAGE_FDS])
{
	struct rename_pushed pushed[WORKER_MAX_PUSHED] = {0};
	struct analyser_job none = ANALYSER_NO_JOB;
	struct analyser_job *job = analyser_job(a, "");
	int rc;

	if (!id_fits(m->id) || m->npids > WORKER_MAX_PIDS ||
	    m->npushed > WORKER_MAX_PUSHED || !list_pushed(m, fds + 2, pushed))
		return;
	memcpy(none.id, m->id, ID_MAX);
	if (!job || fds[1] < 0 || analyser_job(a, m->id)) {
		analyser_fail(a, &none, false,
		              fds[1] < 0 ? CAPTURE_BAD_START : CAPTURE_BUSY, 0);
		return;
	}
	*job = none;
	job->out_fd = TAKE_FD(fds[0]);
	job->in_fd = TAKE_FD(fds[1]);
	job->make = m->uploaded ? analyser_name_upload : analyser_rename;
	job->npids = m->npids;
	memcpy(job->pids, m->pids, m->npids * sizeof(*m->pids));
	job->pushed = pushed;
	job->npushed = m->npushed;
	rc = analyser_fork_finisher(a, job, job->out_fd, false, &job->finisher);
	job->pushed = NULL;
	job->npushed = 0;
	if (rc) {
		analyser_fail(a, job, false, CAPTURE_INTERNAL, rc);
		analyser_clear(job);
	}
}

/* Takes FOLLOW and LEAVE; ignores them if their capture has ended. */
static void
take_follow(struct analyser *a, const struct msg_start *m)
{
	struct analyser_job *job = analyser_job(a, m->id);

	if (!job || m->npids > WORKER_MAX_PIDS)
		return;
	if (m->type == MSG_FOLLOW)
		pass_joined(job, m->pids, m->npids);
	if (!job->capture)
		return;
	if (m->type == MSG_LEAVE)
		capture_leave(job->capture, m->pids, m->npids);
	else if (capture_follow(job->capture, m->pids, m->npids))
		log_debug("%s: no memory for its processes", job->id);
}

static int
take_message(struct analyser *a)
{
	union {
		uint32_t type;
		struct msg_start start;
		struct msg_capture capture;
		struct msg_pull pull;
		struct msg_symbolize symbolize;
	} m;
	int fds[MESSAGE_FDS];
	size_t nfds = ARRAY_LEN(fds);
	ssize_t n;

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = -1;
	n = msg_recv(a->socket, &m, sizeof(m), fds, &nfds);

	if (n <= 0)
		return n ? (int)n : -EPIPE;
	if (n == sizeof(m.start) &&
	    (m.type == MSG_START || m.type == MSG_GROW) && id_fits(m.start.id))
		take_start(a, &m.start, fds);
	else if (n == sizeof(m.start) && m.type == MSG_WATCH &&
	         id_fits(m.start.id))
		analyser_watch(a, &m.start);
	else if (n == sizeof(m.start) &&
	         (m.type == MSG_FOLLOW || m.type == MSG_LEAVE) &&
	         id_fits(m.start.id))
		take_follow(a, &m.start);
	else if (n == sizeof(m.pull) && m.type == MSG_PULL)
		take_pull(a, &m.pull, fds);
	else if (n == sizeof(m.capture) && m.type == MSG_ROLLUP)
		analyser_batch_start(a, &a->rollup, TAKE_FD(fds[0]));
	else if (n == sizeof(m.capture) && m.type == MSG_EXPORT)
		analyser_batch_start(a, &a->export, TAKE_FD(fds[0]));
	else if (n == sizeof(m.symbolize) && m.type == MSG_SYMBOLIZE)
		take_symbolize(a, &m.symbolize, fds);
	else if (n == sizeof(m.capture))
		take_capture(a, &m.capture, fds[0]);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close_ptr(&fds[i]);
	return 0;
}

/* --- ends of children ----------------------------------------------------- */

/* The time is rounded up: a capture that has begun has some progress. */
static void
send_progress(const struct analyser *a, const struct analyser_job *job,
              enum worker_phase phase)
{
	const struct capture *c = job->capture;

	analyser_send(a, job,
	              (struct msg_progress){
			      .phase = phase,
			      .samples = capture_samples(c),
			      .elapsed_ms = (capture_elapsed_ns(c) +
	                                     (uint64_t)NS_PER_MS - 1) /
	                                    (uint64_t)NS_PER_MS,
			      .duration_ms = capture_duration_ns(c) /
	                                     (uint64_t)NS_PER_MS,
		      });
}

static void
finish(struct analyser *a, struct analyser_job *job)
{
	int rc = analyser_fork_finisher(a, job, job->out_fd, false,
	                                &job->finisher);

	send_progress(a, job, WORKER_FINISHING);
	if (rc)
		analyser_fail(a, job, false,
		              rc == -ENOMEM ? CAPTURE_NO_MEMORY
		                            : CAPTURE_INTERNAL,
		              rc);
	recorder_remove(a->captures, TAKE(job->capture));
	if (rc)
		analyser_clear(job);
}

/* Ends a job whose capture cannot begin. */
static void
give_up(struct analyser *a, struct analyser_job *job)
{
	int rc = capture_failed(job->capture);

	recorder_remove(a->captures, TAKE(job->capture));
	analyser_fail(a, job, false, analyser_error(job, rc), rc);
	analyser_clear(job);
}

static void
look_at_jobs(struct analyser *a)
{
	int64_t now = clock_mono_ns();
	bool tell = now - a->progress_ns >= PROGRESS_NS;

	for (unsigned i = 0; i < CAPTURES_MAX; i++) {
		struct analyser_job *job = &a->jobs[i];

		if (!job->capture)
			continue;
		if (capture_failed(job->capture))
			give_up(a, job);
		else if (job->watch)
			continue;
		else if (capture_ended(job->capture))
			finish(a, job);
		else if (tell && capture_elapsed_ns(job->capture))
			send_progress(a, job, WORKER_CAPTURING);
	}
	if (tell)
		a->progress_ns = now;
}

/* Restarts the job by its next way, including processes that have joined. */
static void
try_next(struct analyser *a, struct analyser_job *job)
{
	ssize_t n = pread(job->joined_fd, job->pids, sizeof(job->pids), 0);

	if (n > 0)
		job->npids = (uint32_t)n / sizeof(*job->pids);
	job->finisher = 0;
	job->ways = analyser_next(job);
	start(a, job);
}

/* Handles the end of a finisher. If it could report, it has sent DONE and
 * exited with 0. */
static void
finisher_ended(struct analyser *a, pid_t pid, int status)
{
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	bool cpu = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
	bool next = WIFEXITED(status) && WEXITSTATUS(status) == ANALYSER_NEXT;
	enum capture_error e = cpu ? CAPTURE_FINISH_CPU : CAPTURE_FINISH_DIED;

	analyser_learn(a, pid, good);
	analyser_cut_ended(a, pid, good);
	analyser_batch_ended(a, &a->rollup, pid, good);
	analyser_batch_ended(a, &a->export, pid, good);
	for (unsigned i = 0; i < CAPTURES_MAX; i++) {
		struct analyser_job *job = &a->jobs[i];

		if (job->checkpointer == pid) {
			if (!good)
				analyser_fail(a, job, true, e, 0);
			job->checkpointer = 0;
		} else if (job->finisher == pid && next) {
			try_next(a, job);
		} else if (job->finisher == pid) {
			if (!good)
				analyser_fail(a, job, false, e, 0);
			analyser_clear(job);
		}
	}
}

static void
reap(struct analyser *a)
{
	struct signalfd_siginfo si;
	pid_t pid;
	int status;

	if (read(a->signals, &si, sizeof(si)) < 0)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		finisher_ended(a, pid, status);
}

/* --- the process ---------------------------------------------------------- */

/* Returns how long to wait for events: rings have to be emptied and captures
 * ended in time, and the opener needs signs of life. */
static struct timespec
patience(const struct analyser *a, bool rings)
{
	uint64_t wait = rings ? recorder_patience_ms(a->captures) *
	                                (uint64_t)NS_PER_MS
	                      : UINT64_MAX;
	int64_t alive = a->alive_ns - clock_mono_ns();

	if (alive < 0)
		alive = 0;
	if ((uint64_t)alive < wait)
		wait = (uint64_t)alive;

	for (unsigned i = 0; rings && i < CAPTURES_MAX; i++) {
		const struct capture *c = a->jobs[i].capture;
		uint64_t left = wait;

		if (c)
			left = capture_duration_ns(c) - capture_elapsed_ns(c);
		if (left < wait) /* 0: ended, but others are written first */
			wait = left ? left : (uint64_t)NS_PER_MS;
	}
	return (struct timespec){(time_t)(wait / (uint64_t)NS_PER_S),
	                         (long)(wait % (uint64_t)NS_PER_S)};
}

static int
wait_for_work(struct analyser *a)
{
	struct pollfd fds[RINGS + MAX_RINGS] = {
		[SOCKET] = {.fd = a->socket, .events = POLLIN},
		[SIGNALS] = {.fd = a->signals, .events = POLLIN},
	};
	size_t n = recorder_poll(a->captures, fds + RINGS, MAX_RINGS);
	const struct timespec wait = patience(a, n);

	if (ppoll(fds, RINGS + n, &wait, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[SIGNALS].revents)
		reap(a);
	return fds[SOCKET].revents ? take_message(a) : 0;
}

static int
work(struct analyser *a)
{
	int rc;

	do {
		worker_alive(a->ask, a->conf->worker_watchdog, &a->alive_ns);
		rc = wait_for_work(a);
		recorder_drain(a->captures);
		recorder_join(a->captures);
		look_at_jobs(a);
	} while (!rc);
	return rc;
}

static int
open_signals(int *out)
{
	sigset_t set;

	signal(SIGINT, SIG_IGN); /* from a terminal; the scheduler decides */
	signal(SIGTERM, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return -errno;
	*out = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *out < 0 ? -errno : 0;
}

/* Returns the maximum number of nodes of a tree, so that the trees of all
 * captures fit into memory. */
static uint32_t
max_nodes(const struct conf *conf)
{
	int64_t fair = conf->worker_memory / TREES_SHARE /
	               conf->worker_max_captures / RECORDER_NODE_BYTES;
	uint32_t n = 1;

	while (n * 2 <= fair && n * 2 <= conf->worker_tree_nodes)
		n *= 2;
	return n;
}

static int
prepare(struct analyser *a, int blame_fd)
{
	struct recorder_conf conf = {
		.ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.stack_bytes = (uint32_t)a->conf->worker_stack_bytes,
		.ring_bytes = (size_t)a->conf->worker_ring_bytes,
		.max_nodes = max_nodes(a->conf),
	};
	struct stat program;
	int rc = open_signals(&a->signals);

	if (rc)
		return rc;
	a->blame = mmap(NULL, sizeof(*a->blame), PROT_READ | PROT_WRITE,
	                MAP_SHARED, blame_fd, 0);
	if (a->blame == MAP_FAILED)
		return -errno;
	close(blame_fd);
	conf.blame = &a->blame->current;
	a->host = worker_host(&a->ask);
	if (!stat("/proc/self/exe", &program))
		a->host.device = program.st_dev;
	a->symbols = symbols_cache_new((size_t)a->conf->worker_symbol_cache);
	if (!a->symbols)
		return -ENOMEM;
	for (unsigned i = 0; i < CAPTURES_MAX; i++)
		a->jobs[i] = (struct analyser_job)ANALYSER_NO_JOB;
	a->cut.data = a->cut.rows = -1;
	analyser_batch_init(&a->rollup, &analyser_rollup);
	analyser_batch_init(&a->export, &analyser_export);
	/* A child that drops a tree gives its pages back at once. The heap does
	 * not: windows would take them again every few seconds. */
	mallopt(M_MMAP_THRESHOLD, RECORDER_PIECE);
	mallopt(M_TRIM_THRESHOLD, HEAP_SPARE);
	mallopt(M_TOP_PAD, HEAP_STEP);
	rc = turns_open(&a->turns)
	             ?: recorder_new(&a->host, &conf, &a->captures);
	return rc ? rc : sandbox_enter(a->conf->worker_memory);
}

int
analyser_run(const struct conf *conf, int ask, int socket, int blame_fd)
{
	struct analyser *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return -ENOMEM;
	a->conf = conf;
	a->ask = ask;
	a->socket = socket;
	a->channel = -1;
	rc = prepare(a, blame_fd);
	/* The process ends after this call, and so frees all memory. */
	return rc ? rc : work(a);
}
