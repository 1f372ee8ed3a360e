#include "base/clock.h"
#include "base/log.h"
#include "capture/recorder/rate.h"
#include "scheduler_private.h"
#include "store/allow.h"
#include "store/source.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define FRESH_NS    INT64_C(200000000) /* processes known this long are */
#define SECONDS_MAX 3600

/* Code and reason, when a job can't become a capture; NULL when it can. */
static const char *
objection(const struct job *j, const struct followed *now,
          const char **out_text)
{
	uint32_t of;

	if (captures_kind(j->type, &of) == WORKER_KINDS) {
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
		*out_text = "no process of the service is running";
		return "ServiceNotRunning";
	}
	return NULL;
}

/* What the service allows the opener to do for such a capture; 0: nothing. */
static uint32_t
may(const struct job *j, const struct service *service)
{
	uint32_t of;
	bool set = captures_kind(j->type, &of) == WORKER_BUCKETS;

	if (!allow_has(service,
	               set ? ALLOW_GO_PROFILE_RATES : ALLOW_JAVA_PERF_MAP))
		return 0;
	return set ? WORKER_MAY_SET : WORKER_MAY_ASK;
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
	int rc = scheduler_scan(s, now_ns, age_ns);

	if (rc)
		log_warn("processes: %s", strerror(-rc));
	targets_followed(&s->targets, j->tenant, j->service, j->ordinal, out);
}

static int
start(struct scheduler *s, struct job *j, const struct service *service,
      int64_t now_ns)
{
	struct followed now;
	const char *code, *text;

	find_processes(s, j, now_ns, FRESH_NS, &now);
	if (!now.n || !all_run(&now)) /* it may just have been restarted */
		find_processes(s, j, now_ns, 0, &now);
	code = objection(j, &now, &text);
	if (code)
		return capture_refuse(&s->store, j, code, text);
	log_info("%s: %s of %s, %lld s at %lld Hz, %u processes", j->session,
	         j->type, j->service, (long long)j->asked_seconds,
	         (long long)j->asked_rate, now.n);
	return captures_start(&s->captures, j,
	                      targets_of(&s->targets, j->tenant, j->service),
	                      may(j, service), &now, now_ns);
}

/* The opener answers at once. */
int
scheduler_want_fetcher(void *arg)
{
	struct scheduler *s = arg;
	struct msg_fetcher m = {.type = MSG_WANT_FETCHER};
	int rc;

	if (s->captures.fetcher >= 0)
		return 0;
	s->fetcher_wanted = true;
	rc = msg_send(s->io.events, &m, sizeof(m), NULL, 0);
	while (!rc && s->fetcher_wanted)
		rc = scheduler_event(s);
	return rc ? rc : s->captures.fetcher < 0 ? -ECHILD : 0;
}

static int
pull(struct scheduler *s, struct job *j, const struct service *service,
     int64_t now_ns)
{
	int rc = scheduler_want_fetcher(s);

	if (rc) {
		log_warn("no fetcher: %s", strerror(-rc));
		return capture_refuse(&s->store, j,
		                      capture_error_code(CAPTURE_FETCH_DIED),
		                      capture_error_text(CAPTURE_FETCH_DIED));
	}
	log_info("%s: %s of %s from its endpoint", j->session, j->type,
	         j->service);
	return captures_pull(&s->captures, j, service, now_ns);
}

/* By the engine that its service and type ask for. */
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

int
scheduler_claim(struct scheduler *s, int64_t now_ns)
{
	while (s->captures.n < s->captures.max && s->captures.analyser >= 0) {
		CLEANUP_JOB struct job j = {0};
		int rc = job_claim(&s->store, s->self.host, s->self.lease_ms,
		                   &j);

		if (rc)
			return rc == -ENOENT ? 0 : rc;
		rc = start_any(s, &j, now_ns);
		if (rc && rc != -ESTALE) /* its job failed; others may not */
			log_warn("a capture did not start: %s", strerror(-rc));
	}
	return 0;
}
