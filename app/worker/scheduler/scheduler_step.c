#include "scheduler_step.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/ways.h"
#include "capture/recorder/rate.h"
#include "own_cost.h"
#include "profile/types.h"
#include "store/allow.h"
#include "store/source.h"
#include "store/worker.h"
#include "worker/targets/surveys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FRESH_NS    INT64_C(200000000) /* age up to which a look is fresh */
#define SECONDS_MAX 3600
#define SCAN_NS     INT64_C(1000000000)
#define LOOK_NS     INT64_C(100000000)
/* On hosts with very many processes, looks cost at most 1/SCAN_SHARE of a CPU.
 * The bound is 1/SCAN_SHARE_WAITING while captures run, whose services may be
 * restarted, and where containers and units become services automatically. */
#define SCAN_SHARE         2000
#define SCAN_SHARE_WAITING 100

/* --- messages, and processes ---------------------------------------------- */

int
scheduler_event(struct scheduler *s)
{
	int fds[2] = {-1, -1};
	size_t nfds = ARRAY_LEN(fds);
	union {
		uint32_t type;
		struct msg_analyser analyser;
		struct msg_fetcher fetcher;
	} m;
	ssize_t n = msg_recv(s->io.events, &m, sizeof(m), fds, &nfds);

	if (n == sizeof(m.fetcher) && m.type == MSG_FETCHER && nfds < 2) {
		scheduler_fetcher_gone(s); /* the old one, if any */
		s->runs.fetcher = fds[0];  /* -1: there is none */
		s->fetcher_wanted = false;
		return 0;
	}
	if (n == sizeof(m.fetcher) && m.type == MSG_COURIER && nfds < 2) {
		agent_courier_gone(&s->agent, clock_mono_ns());
		s->agent.courier = fds[0]; /* -1: there is none */
		s->courier_wanted = false;
		return 0;
	}
	if (n == sizeof(m.analyser) && m.type == MSG_ANALYSER && nfds == 2) {
		scheduler_analyser_gone(s); /* the old one, if any */
		s->runs.analyser = fds[0];
		watches_analyser(&s->watches, fds[0]);
		rollup_analyser(&s->rollup, fds[0]);
		s->blame_fd = fds[1];
		return 0;
	}
	for (size_t i = 0; i < nfds && n > 0; i++)
		close(fds[i]);
	return n == 0 || n == -ECONNRESET ? -EPIPE : n < 0 ? (int)n : 0;
}

/* Reads which capture the analyser was working on. The page may be wrong if the
 * analyser was malicious or died while it wrote. */
static void
read_blame(int fd, char out[static ID_MAX])
{
	struct blame b;

	out[0] = '\0';
	if (fd < 0 || pread(fd, &b, sizeof(b), 0) != sizeof(b) ||
	    b.current >= WORKER_MAX_CAPTURES)
		return;
	memcpy(out, b.ids[b.current], ID_MAX);
	out[ID_MAX - 1] = '\0';
}

void
scheduler_fetcher_gone(struct scheduler *s)
{
	runs_fetcher_gone(&s->runs);
	periodics_fetcher_gone(&s->periodics, clock_mono_ns());
	debuginfod_fetcher_gone(&s->debuginfod, clock_mono_ns());
	webhooks_fetcher_gone(&s->webhooks);
	deliveries_fetcher_gone(&s->deliveries, clock_mono_ns());
}

void
scheduler_analyser_gone(struct scheduler *s)
{
	char blamed[ID_MAX];

	if (s->runs.analyser < 0)
		return;
	read_blame(s->blame_fd, blamed);
	log_warn("the analyser is gone%s%s", *blamed ? ", working on " : "",
	         blamed);
	watches_analyser(&s->watches, -1);
	rollup_analyser(&s->rollup, -1);
	deliveries_analyser_gone(&s->deliveries);
	periodics_analyser_gone(&s->periodics, clock_mono_ns());
	runs_lost(&s->runs, blamed);
	symbolizing_drop(&s->runs.symbolizing, &s->store, s->self.host);
	naming_drop(&s->runs.naming, &s->store, s->self.host);
	close_ptr(&s->blame_fd);
}

/* Reads the table of processes again. */
static int
read_processes(struct scheduler *s, int64_t now_ns)
{
	int rc = proc_table_scan(&s->procs, now_ns);

	s->unmatched |= rc > 0;
	return rc < 0 ? rc : 0;
}

/* Creates services from newly seen containers and units. They are committed by
 * this connection, and so do not count as changes of the data's version. */
static int
discover(struct scheduler *s, int64_t now_ns)
{
	int made = discover_is_on(&s->discover)
	                   ? discover_step(&s->discover, &s->store, &s->procs,
	                                   now_ns)
	                   : 0;

	if (made > 0)
		s->version = -1;
	return made < 0 ? made : 0;
}

/* Looks for processes, unless the last look was less than age_ns ago. */
static int
scan(struct scheduler *s, int64_t now_ns, int64_t age_ns)
{
	int64_t cpu_ns = clock_cpu_ns();
	int rc;

	if ((!s->targets.n && !discover_is_on(&s->discover)) ||
	    (s->scanned_ns && now_ns - s->scanned_ns < age_ns))
		return 0;
	rc = read_processes(s, now_ns) ?: discover(s, now_ns);
	if (rc)
		return rc;
	s->scanned_ns = now_ns;
	if (s->unmatched || s->targets.waits) {
		rc = targets_match(&s->targets, s->conf, &s->procs);
		if (!rc)
			rc = targets_publish(&s->targets, &s->store, &s->procs,
			                     now_ns);
		s->unmatched = rc != 0;
		if (s->targets.relabelled)
			s->version = -1; /* windows need another series */
		s->targets.relabelled = false;
	}
	s->cost_ns = clock_cpu_ns() - cpu_ns;
	return rc;
}

/* --- jobs that wait ------------------------------------------------------- */

/*
 * Returns the error code of a job that can't become a capture, with the reason;
 * NULL if it can. The API's user may have written anything into jobs and
 * services, so type, time and rate are bounded here, and processes by the
 * tenant's scope in stoker.conf (worker/targets/match.h).
 */
static const char *
objection(const struct job *j, const struct followed *now,
          const char **out_text)
{
	if (!ways_exist(j->type)) {
		*out_text = "this worker does not capture such profiles";
		return "ProfileTypeUnsupported";
	}
	if (j->asked_seconds < 1 || j->asked_seconds > SECONDS_MAX ||
	    j->asked_rate < RATE_MIN || j->asked_rate > RATE_MAX) {
		*out_text = capture_error_text(CAPTURE_BAD_START);
		return capture_error_code(CAPTURE_BAD_START);
	}
	if (!now->n && j->ordinal != SESSION_ALL_ORDINALS) {
		*out_text = "no process has this ordinal now";
		return "UnknownOrdinal";
	}
	if (!now->n && now->left.refused) {
		*out_text = capture_error_text(CAPTURE_OUT_OF_SCOPE);
		return capture_error_code(CAPTURE_OUT_OF_SCOPE);
	}
	if (!now->n) {
		*out_text = capture_error_text(CAPTURE_NO_PROCESS);
		return capture_error_code(CAPTURE_NO_PROCESS);
	}
	return NULL;
}

/* Writes why a service that matches processes outside of the scope is refused,
 * with the line of this host's stoker.conf that would include them. */
static const char *
scope_line(const struct scheduler *s, const struct service *v, struct buf *out)
{
	const char *key = !strcmp(v->match_kind, "unit")        ? "units"
	                  : !strcmp(v->match_kind, "exe")       ? "exe"
	                  : !strcmp(v->match_kind, "container") ? "containers"
	                                                        : NULL;

	buf_addf(out, "%s", capture_error_text(CAPTURE_OUT_OF_SCOPE));
	if (key)
		buf_addf(out, " of %s: %s = %s in [scope.%s]", s->self.host,
		         key, v->match_value, v->tenant);
	return buf_err(out) ? capture_error_text(CAPTURE_OUT_OF_SCOPE)
	                    : buf_str(out);
}

/* Returns the rights that the service gives the opener for a capture, as bits
 * of enum worker_may. */
static uint32_t
may(const struct service *service, uint64_t ways)
{
	uint32_t bits = 0;

	if (allow_has(service, ALLOW_JAVA_PERF_MAP))
		bits |= WORKER_MAY_ASK;
	if (ways_of(ways, ENGINE_BUCKETS) &&
	    allow_has(service, ALLOW_GO_PROFILE_RATES))
		bits |= WORKER_MAY_SET;
	if (allow_has(service, ALLOW_SOURCE_CODE))
		bits |= WORKER_MAY_LIST;
	return bits;
}

static bool
all_run(const struct followed *now)
{
	for (size_t i = 0; i < now->n; i++)
		if (kill(now->pids[i], 0) && errno == ESRCH)
			return false;
	return true;
}

static void
find_processes(struct scheduler *s, const struct job *j, int64_t now_ns,
               int64_t age_ns, struct followed *out)
{
	int rc = scan(s, now_ns, age_ns);

	if (rc)
		log_warn("processes: %s", strerror(-rc));
	targets_followed(&s->targets, j->tenant, j->service, j->ordinal, out);
}

/* Gives a capture the labels of the service's containers: those that windows
 * have, and those that differ at each start. */
static void
keep_labels(struct scheduler *s, const struct job *j)
{
	const struct target *t =
		targets_find(&s->targets, j->tenant, j->service);
	int rc = 0;

	if (t)
		rc = session_add_labels(&s->store, j->session, t->labels)
		             ?: session_add_labels(&s->store, j->session,
		                                   t->start_labels);
	if (rc)
		log_warn("%s: labels of containers: %s", j->session,
		         strerror(-rc));
}

static int
start(struct scheduler *s, struct job *j, const struct service *service,
      int64_t now_ns)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct followed now;
	const char *code, *text;
	uint64_t ways;

	find_processes(s, j, now_ns, FRESH_NS, &now);
	if (!now.n || !all_run(&now)) /* the service may just have been
	                                 restarted */
		find_processes(s, j, now_ns, 0, &now);
	code = objection(j, &now, &text);
	if (code && !strcmp(code, capture_error_code(CAPTURE_OUT_OF_SCOPE)))
		text = scope_line(s, service, &why);
	if (code)
		return run_refuse(&s->store, j, code, text);
	log_info("%s: %s of %s, %lld s at %lld Hz, %u processes", j->session,
	         j->type, j->service, (long long)j->asked_seconds,
	         (long long)j->asked_rate, now.n);
	ways = ways_outside(service_ways_kind(service), j->type);
	keep_labels(s, j);
	return runs_start(&s->runs, j, ways, may(service, ways), &now, now_ns);
}

/* Asks for a fetcher unless one runs, and waits; the opener answers at
 * once. */
int
scheduler_want_fetcher(void *arg)
{
	struct scheduler *s = arg;
	struct msg_fetcher m = {.type = MSG_WANT_FETCHER};
	int rc;

	if (s->runs.fetcher >= 0)
		return 0;
	s->fetcher_wanted = true;
	rc = msg_send(s->io.events, &m, sizeof(m), NULL, 0);
	while (!rc && s->fetcher_wanted)
		rc = scheduler_event(s);
	return rc ? rc : s->runs.fetcher < 0 ? -ECHILD : 0;
}

int
scheduler_want_courier(void *arg)
{
	struct scheduler *s = arg;
	struct msg_fetcher m = {.type = MSG_WANT_COURIER};
	int rc;

	s->courier_wanted = true;
	rc = msg_send(s->io.events, &m, sizeof(m), NULL, 0);
	while (!rc && s->courier_wanted)
		rc = scheduler_event(s);
	return rc ? rc : s->agent.courier < 0 ? -ECHILD : 0;
}

static int
pull(struct scheduler *s, struct job *j, const struct service *service,
     int64_t now_ns)
{
	int rc = scheduler_want_fetcher(s);

	if (rc) {
		log_warn("no fetcher: %s", strerror(-rc));
		return run_refuse(&s->store, j,
		                  capture_error_code(CAPTURE_FETCH_DIED),
		                  capture_error_text(CAPTURE_FETCH_DIED));
	}
	log_info("%s: %s of %s from its endpoint", j->session, j->type,
	         j->service);
	keep_labels(s, j);
	return runs_pull(&s->runs, j, service, now_ns);
}

/* Starts a job with the engine for its service and type. */
static int
start_any(struct scheduler *s, struct job *j, int64_t now_ns)
{
	CLEANUP_SERVICE struct service service = {0};
	int rc = service_get(&s->store, j->tenant, j->service, &service);

	if (rc)
		return rc;
	if (source_of(&service, j->type) == SOURCE_ENDPOINT)
		return pull(s, j, &service, now_ns);
	return start(s, j, &service, now_ns);
}

/* Starts queued jobs while there is room. */
static int
claim(struct scheduler *s, int64_t now_ns)
{
	while (s->runs.n < s->runs.max && s->runs.analyser >= 0) {
		CLEANUP_JOB struct job j = {0};
		int rc = job_claim(&s->store, s->self.host, s->self.lease_ms,
		                   (int64_t)(s->runs.max - s->runs.n), &j);

		if (rc)
			return rc == -ENOENT ? 0 : rc;
		rc = start_any(s, &j, now_ns);
		if (rc && rc != -ESTALE) /* this job failed; others may not */
			log_warn("a capture did not start: %s", strerror(-rc));
	}
	return 0;
}

/* --- everything that is due ----------------------------------------------- */

/* Answers surveys; *out is set if there were any. */
static int
answer_surveys(struct scheduler *s, int64_t now_ns, bool *out)
{
	CLEANUP_SURVEY struct survey_list l = {0};
	int rc = survey_waiting(&s->store, s->self.host, &l);

	*out = l.n > 0;
	if (rc || !l.n)
		return rc;
	s->look_ns = now_ns;
	return read_processes(s, now_ns)
	               ?: surveys_answer(&s->store, &l, s->conf,
	                                 &s->targets.reader, &s->procs);
}

/* Looks for processes if the API has asked for a look since the last one. */
static int
look_for_start(struct scheduler *s, int64_t now_ns)
{
	int64_t wanted, looked, at;
	int rc = worker_look(&s->store, s->self.host, &wanted, &looked);

	if (rc || wanted <= looked)
		return rc == -ENOENT ? 0 : rc;
	s->look_ns = now_ns;
	rc = store_now(&s->store, &at) ?: scan(s, now_ns, 0);
	return rc ?: worker_looked(&s->store, s->self.host, at);
}

/* Looks at processes on request, once per LOOK_NS: a look has a cost, and any
 * operator may ask for one. */
static int
look_if_wanted(struct scheduler *s, int64_t now_ns)
{
	bool more = false;
	int rc;

	if (!s->look_wanted || now_ns - s->look_ns < LOOK_NS)
		return 0;
	rc = look_for_start(s, now_ns) ?: answer_surveys(s, now_ns, &more);
	if (!rc)
		s->look_wanted = more;
	return rc;
}

/* Handles changes in the database: services, and cancelled jobs. */
static int
follow(struct scheduler *s, int64_t now_ns)
{
	int64_t version = db_data_version(s->store.db);
	uint64_t stamp = s->targets.stamp;
	int rc;

	if (version == s->version)
		return 0;
	rc = targets_load(&s->targets, &s->store);
	if (rc)
		return rc;
	rc = watches_load(&s->watches, &s->targets)
	             ?: periodics_load(&s->periodics, &s->targets)
	             ?: triggers_load(&s->triggers, now_ns);
	if (rc)
		return rc;
	s->version = version;
	s->runs.hurry = true;
	s->look_wanted = true;
	s->unmatched |= stamp != s->targets.stamp;
	return s->unmatched ? scan(s, now_ns, 0) : 0;
}

static int
fetch_debug_files(struct scheduler *s, int64_t now_ns)
{
	int rc;

	if (!debuginfod_waits(&s->debuginfod))
		return 0;
	rc = scheduler_want_fetcher(s);
	if (!rc)
		debuginfod_ask(&s->debuginfod, s->runs.fetcher,
		               ++s->runs.last_fetch, now_ns);
	return rc;
}

void
scheduler_other(void *arg, const void *m, size_t n, int fds[static 2])
{
	struct scheduler *s = arg;
	const struct msg_windows *windows = m;
	const struct msg_batch *batch = m;
	const struct msg_done *done = m;
	const struct msg_debug *debug = m;
	int64_t now_ns = clock_mono_ns();

	if (n == sizeof(*windows) && windows->type == MSG_WINDOWS)
		watches_take(&s->watches, windows, TAKE_FD(fds[0]),
		             TAKE_FD(fds[1]), now_ns);
	else if (n == sizeof(*batch) && batch->type == MSG_ROLLED)
		rollup_take(&s->rollup, batch, TAKE_FD(fds[0]),
		            TAKE_FD(fds[1]));
	else if (n == sizeof(*batch) && batch->type == MSG_EXPORTED)
		deliveries_take(&s->deliveries, batch, TAKE_FD(fds[0]),
		                TAKE_FD(fds[1]), now_ns);
	else if (n == sizeof(*debug) && debug->type == MSG_DEBUG)
		debuginfod_take(&s->debuginfod, debug);
	else if (n == sizeof(*done) && done->type == MSG_DONE &&
	         !periodics_done_one(&s->periodics, done, fds, now_ns))
		(void)watches_failed(&s->watches, done, now_ns);
}

void
scheduler_other_fetched(void *arg, const struct fetch_answer *a, int *body)
{
	struct scheduler *s = arg;

	if (!periodics_fetched(&s->periodics, a, body, clock_mono_ns()) &&
	    !deliveries_fetched(&s->deliveries, a, body, clock_mono_ns()))
		(void)(webhooks_fetched(&s->webhooks, a) ||
		       debuginfod_fetched(&s->debuginfod, a, clock_mono_ns()));
}

static void
report(const char *what, int rc)
{
	if (rc)
		log_warn("%s: %s", what, strerror(-rc));
}

/* Sends a heartbeat with capabilities and the state of continuous profiling. */
static int
beat(struct scheduler *s, int64_t now_ns)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct continuous_host host;

	if (!worker_beat_due(&s->self, now_ns))
		return 0;
	json_open(&text, NULL, '{');
	json_open(&text, "profileTypes", '[');
	for (size_t i = 0; i < profile_ntypes; i++)
		if (ways_exist(profile_types[i].name))
			json_put_text(&text, NULL, profile_types[i].name);
	json_close(&text, ']');
	watches_describe(&s->watches, &host);
	json_open(&text, "continuous", '{');
	continuous_host_put(&host, &text);
	json_close(&text, '}');
	deliveries_json(&s->deliveries, &text);
	own_cost_json(s->procs.proc_fd, getppid(), &text);
	selftest_json(&s->selftest, &text);
	json_close(&text, '}');
	return buf_err(&text) ? buf_err(&text)
	                      : worker_beat(&s->self, &s->store, buf_str(&text),
	                                    now_ns);
}

static int64_t
scan_age_ns(const struct scheduler *s)
{
	bool waits = s->runs.n || discover_is_on(&s->discover);
	int64_t age_ns = s->cost_ns * (waits ? SCAN_SHARE_WAITING : SCAN_SHARE);

	return age_ns > SCAN_NS ? age_ns : SCAN_NS;
}

/* Talks to the centre. Jobs and services that result are committed by this
 * connection, and so do not count as changes of the data's version. */
static void
ask_centre(struct scheduler *s, int64_t now_ns)
{
	agent_step(&s->agent, now_ns);
	if (s->agent.changed)
		s->version = -1;
	s->agent.changed = false;
}

int
scheduler_step(struct scheduler *s, int64_t now_ns)
{
	int rc = store_refresh(&s->store);

	if (rc == -EPROTONOSUPPORT && !s->stop_by_ns) {
		log_err("%s", store_why(&s->store));
		return rc;
	}
	if (rc == -EPROTONOSUPPORT) /* an upgrade: captures are still kept */
		rc = 0;
	if (rc) { /* without the store there is no work: leases expire */
		report("store", rc);
		return 0;
	}
	if (s->runs.failed)
		selftest_soon(&s->selftest, now_ns);
	s->runs.failed = false;
	report("self-test", selftest_step(&s->selftest, now_ns));
	report("heartbeat", beat(s, now_ns));
	ask_centre(s, now_ns);
	report("services", follow(s, now_ns));
	report("processes asked for", look_if_wanted(s, now_ns));
	report("processes", scan(s, now_ns, scan_age_ns(s)));
	runs_follow(&s->runs, &s->targets, now_ns);
	report("leases", runs_tick(&s->runs, now_ns));
	if (!s->stop_by_ns) {
		report("queue", claim(s, now_ns));
		periodics_step(&s->periodics, &s->targets, now_ns);
		watches_step(&s->watches, &s->targets, now_ns);
		rollup_step(&s->rollup, now_ns, clock_wall_ms());
		report("debug files", fetch_debug_files(s, now_ns));
		triggers_step(&s->triggers, now_ns);
		s->webhooks.waits |= s->triggers.fired;
		s->triggers.fired = false;
		webhooks_step(&s->webhooks, now_ns);
		deliveries_step(&s->deliveries, now_ns);
		report("symbolizing", symbolizing_step(&s->runs, &s->targets,
		                                       s->self.host, now_ns));
		report("naming", naming_step(&s->runs, &s->targets,
		                             s->self.host, now_ns));
		naming_again(&s->runs.naming, &s->store, s->self.host,
		             s->debuginfod.kept,
		             debuginfod_busy(&s->debuginfod), now_ns);
		symbolizing_again(&s->runs.symbolizing, &s->store, s->self.host,
		                  s->debuginfod.kept,
		                  debuginfod_busy(&s->debuginfod), now_ns);
	} else {
		periodics_step(&s->periodics, &s->targets, now_ns);
	}
	retention_step(&s->retention, &s->store, s->conf, now_ns);
	rc = db_upkeep(s->store.db);
	if (rc != -EBUSY)
		report("upkeep of the database", rc);
	return 0;
}
