#include "base/clock.h"
#include "base/log.h"
#include "scheduler_step.h"
#include "store/link.h"
#include "store/quota.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

/* --- connections between the parts ---------------------------------------- */

static void
periodic_stored(void *arg, const struct periodic *v)
{
	struct scheduler *s = arg;

	if (!strcmp(v->type, "goroutine"))
		triggers_window(&s->triggers, v->tenant, v->service, v->series,
		                v->made.value, clock_mono_ns());
}

static size_t
functions(void *arg, const char *series,
          const char *names[static ROLLUP_MAX_FUNCTIONS],
          char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX])
{
	const struct scheduler *s = arg;

	return triggers_functions(&s->triggers, series, names, ids);
}

static void
share(void *arg, const char *id, const struct rollup_share *of)
{
	struct scheduler *s = arg;

	triggers_share(&s->triggers, id, of, clock_mono_ns());
}

/* Connects the modules with each other. */
static void
connect_parts(struct scheduler *s)
{
	s->runs.store = s->watches.store = s->rollup.store = &s->store;
	s->selftest = (struct selftest){
		.conf = s->conf,
		.self = &s->self,
		.store = &s->store,
		.host = worker_host(&s->io.ask),
		.proc_fd = &s->procs.proc_fd,
		.given_up = &s->rollup.given_up,
		.clock_ms = *s->conf->agent_url ? &s->agent.clock_ms : NULL,
	};
	s->procs.host = &s->selftest.host;
	s->runs.findings = s->watches.findings = s->selftest.findings;
	s->runs.other = scheduler_other;
	s->runs.other_fetched = scheduler_other_fetched;
	s->runs.other_arg = s;
	s->watches.conf = s->conf;
	s->watches.events = s->runs.events = s->io.events;
	s->periodics = (struct periodics){
		.runs = &s->runs,
		.watches = &s->watches,
		.want_fetcher = scheduler_want_fetcher,
		.stored = periodic_stored,
		.scanned_ns = &s->scanned_ns,
		.arg = s,
	};
	s->rollup.asker = (struct rollup_asker){s, functions, share};
	s->triggers = (struct triggers){
		.watches = &s->watches,
		.targets = &s->targets,
		.proc_fd = &s->procs.proc_fd,
	};
	s->agent.conf = s->conf;
	s->agent.store = &s->store;
	s->agent.want_courier = scheduler_want_courier;
	s->agent.arg = s;
	s->deliveries = (struct deliveries){
		.runs = &s->runs,
		.want_fetcher = scheduler_want_fetcher,
		.arg = s,
	};
	s->webhooks = (struct webhooks){
		.runs = &s->runs,
		.want_fetcher = scheduler_want_fetcher,
		.arg = s,
		.waits = true,
	};
}

/* --- the process ---------------------------------------------------------- */

#define TICK_MS  1000
#define HURRY_MS 200

static int
programs(void *arg, const int32_t *pids, size_t n, struct buf *out)
{
	const struct scheduler *s = arg;

	return worker_programs(s->io.ask, pids, n, out);
}

static int
container_file(void *arg, uint32_t row, const char *path, uid_t owner,
               struct buf *out)
{
	const struct scheduler *s = arg;

	return worker_container_file(s->io.ask, row, path, owner, out);
}

static int
pid_file(void *arg, const char *path, int32_t *out)
{
	const struct scheduler *s = arg;

	return worker_pid_file(s->io.ask, path, out);
}

static int
open_signals(int *out)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

/* Takes over jobs, files and rows of the last worker. */
static int
inherit(struct scheduler *s)
{
	int rc = job_take_over(&s->store, s->self.host);

	if (rc > 0)
		log_warn("took over %d jobs", rc);
	if (rc >= 0)
		rc = symbolize_take_over(&s->store, s->self.host);
	if (rc >= 0)
		rc = names_take_over(&s->store, s->self.host);
	if (rc >= 0)
		rc = blob_sweep(&s->store, BYTES_FILE);
	if (rc > 0)
		log_info("removed %d files of no session", rc);
	if (rc >= 0)
		rc = continuous_problem_forget(&s->store, s->self.host);
	if (rc >= 0)
		rc = targets_load(&s->targets, &s->store);
	return rc < 0 ? rc : targets_restore(&s->targets, &s->store);
}

static int
prepare(struct scheduler *s, struct buf *why)
{
	int rc = worker_self_init(s->conf, &s->self, why);

	/* the sandbox prevents later connections to a server */
	if (!rc && db_is_remote(s->conf->store_database)) {
		buf_puts(why, "[store] database names a server, which only the "
		              "API uses: the worker needs a stoker.conf "
		              "without that line");
		return -ENOTSUP;
	}
	if (!rc)
		rc = store_open(s->conf, true, &s->store, why)
		             ?: link_key_make(&s->store)
		             ?: store_adopt(&s->store);
	if (rc)
		return rc;
	if (!*s->conf->agent_url)
		rc = discover_init(&s->discover, s->conf, s->self.host, why);
	if (rc)
		return rc;
	quota_enforce(&s->store, s->conf);
	s->targets.host = s->watches.host = s->self.host;
	s->webhooks.host = s->deliveries.host = s->self.host;
	s->agent.host = s->self.host;
	s->agent.boot_id = s->self.boot_id;
	s->agent.max_jobs = s->runs.max;
	s->targets.boot_id = s->self.boot_id;
	s->procs.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->procs.proc_fd < 0)
		rc = -errno;
	if (!rc)
		rc = open_signals(&s->signal_fd);
	if (!rc)
		rc = inherit(s);
	if (!rc)
		debuginfod_start(&s->debuginfod, s->conf);
	if (rc)
		buf_addf(why, "%s: %s", s->conf->store_dir, strerror(-rc));
	return rc;
}

static void
close_all(struct scheduler *s)
{
	int fds[] = {s->blame_fd, s->signal_fd, s->procs.proc_fd,
	             s->agent.courier};

	runs_done(&s->runs);
	triggers_done(&s->triggers);
	deliveries_done(&s->deliveries);
	periodics_done(&s->periodics);
	watches_done(&s->watches);
	rollup_done(&s->rollup);
	debuginfod_done(&s->debuginfod);
	targets_done(&s->targets);
	discover_done(&s->discover);
	proc_table_done(&s->procs);
	store_close(&s->store);
	worker_self_done(&s->self);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void
stop(struct scheduler *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) > 0)
		;
	if (s->stop_by_ns)
		return;
	log_info("stopping, %zu captures run", s->runs.n);
	s->stop_by_ns = clock_mono_ns() + STOP_NS;
	runs_wind_up(&s->runs);
	periodics_wind_up(&s->periodics, clock_mono_ns());
	watches_wind_up(&s->watches, &s->targets, clock_mono_ns());
}

static bool
is_over(const struct scheduler *s, int64_t now_ns)
{
	return s->stop_by_ns && ((!s->runs.n && !s->watches.cut_ns &&
	                          !periodics_wait(&s->periodics)) ||
	                         now_ns > s->stop_by_ns);
}

/* Waits for an event, and handles it; -EPIPE when the opener is gone. */
static int
serve(struct scheduler *s)
{
	enum { EVENTS, ANALYSER, FETCHER, COURIER, WAKE, SIGNALS, SOURCES };
	struct pollfd p[SOURCES] = {
		[EVENTS] = {s->io.events, POLLIN, 0},
		[ANALYSER] = {s->runs.analyser, POLLIN, 0},
		[FETCHER] = {s->runs.fetcher, POLLIN, 0},
		[COURIER] = {s->agent.courier, POLLIN, 0},
		[WAKE] = {db_wake_fd(s->store.db), POLLIN, 0},
		[SIGNALS] = {s->signal_fd, POLLIN, 0},
	};
	bool hurry = (s->runs.hurry && s->runs.n) || s->look_wanted;
	int wait_ms = hurry ? HURRY_MS : TICK_MS;

	wait_ms = db_woken(s->store.db)
	                  ? 0
	                  : agent_wait_ms(&s->agent, clock_mono_ns(), wait_ms);
	if (poll(p, SOURCES, wait_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[SIGNALS].revents)
		stop(s);
	if (p[FETCHER].revents && runs_fetched(&s->runs))
		scheduler_fetcher_gone(s);
	if (p[COURIER].revents && agent_fetched(&s->agent, clock_mono_ns()))
		agent_courier_gone(&s->agent, clock_mono_ns());
	if (p[ANALYSER].revents && runs_receive(&s->runs))
		scheduler_analyser_gone(s);
	return p[EVENTS].revents ? scheduler_event(s) : 0;
}

int
scheduler_run(const struct conf *conf, const struct worker_sockets *io)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct scheduler s = {
		.conf = conf,
		.io = *io,
		.store = {.profiles_fd = -1},
		.self = {.lock_fd = -1},
		.runs = {.conf = conf,
	                 .analyser = -1,
	                 .fetcher = -1,
	                 .lease_ms = conf->worker_lease * MS_PER_S,
	                 .finish_ns = conf->worker_finish_cpu * NS_PER_S},
		.procs = {.proc_fd = -1,
	                  .programs = programs,
	                  .containers = {.reader = {container_file, &s},
	                                 .groups = "/sys/fs/cgroup",
	                                 .users = "/etc/passwd"}},
		.targets = {.reader = {.pid_file = pid_file}},
		.watches = WATCHES_INIT,
		.rollup = ROLLUP_INIT,
		.debuginfod = DEBUGINFOD_INIT,
		.agent = AGENT_INIT,
		.blame_fd = -1,
		.signal_fd = -1,
	};
	int rc;

	s.procs.arg = s.targets.reader.arg = &s;
	connect_parts(&s);
	s.runs.max = (size_t)conf->worker_max_captures;
	if (s.runs.max > WORKER_MAX_CAPTURES)
		s.runs.max = WORKER_MAX_CAPTURES;
	rc = prepare(&s, &why);
	if (rc)
		log_err("%s", buf_str(&why));
	while (!rc && !is_over(&s, clock_mono_ns())) {
		worker_alive(io->ask, conf->worker_watchdog, &s.alive_ns);
		rc = scheduler_step(&s, clock_mono_ns()) ?: serve(&s);
	}
	if (s.store.db && rc != -EPROTONOSUPPORT &&
	    worker_stop(&s.store, s.self.host))
		log_warn("could not record that this worker stops");
	close_all(&s);
	return rc && rc != -EPIPE;
}
