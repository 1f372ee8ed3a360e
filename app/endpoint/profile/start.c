#include "start.h"

#include "base/clock.h"
#include "endpoint/call/db_watch.h"
#include "store/job.h"
#include "store/source.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How long to wait for a look, which takes a worker milliseconds unless the
 * host is very busy. */
#define LOOK_WAIT_NS INT64_C(3000000000)
#define HOSTS_NAMED  10 /* in an error */

int
start_check_type(struct call *c, const char *type,
                 const struct service *service)
{
	CLEANUP_BUF struct buf fix = BUF_INIT(BUF_MAX_SMALL);
	const char *missing;

	if (source_of(service, type))
		return 0;
	source_fix(service, type, &fix);
	missing = source_missing(service, type);
	detail_text(c, "service", service->name);
	detail_text(c, "profileType", type);
	detail_text(c, "missing", missing);
	if (fix.len)
		detail_text(c, "fix", buf_str(&fix));
	return fail(c, ProfileTypeUnsupported, type, service->name, missing);
}

/* --- looking again -------------------------------------------------------- */

/* Looks of the workers of some hosts. */
struct looks {
	const struct serving_list *hosts;
	int64_t asked_ms[START_HOSTS_MAX + 1];
	int64_t looked_ms;
};

static int
ask_looks(struct call *c, struct looks *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->hosts->n && !rc; i++)
		rc = worker_look_ask(&c->env->store, l->hosts->items[i].host,
		                     &l->asked_ms[i]);
	return rc;
}

/* Returns 0 when all workers have looked since, or -EAGAIN. */
static int
have_looked(struct call *c, void *arg)
{
	struct looks *l = arg;
	int64_t wanted, looked, first = INT64_MAX;

	for (size_t i = 0; i < l->hosts->n; i++) {
		int rc = worker_look(&c->env->store, l->hosts->items[i].host,
		                     &wanted, &looked);

		if (rc || looked < l->asked_ms[i])
			return rc ? rc : -EAGAIN;
		first = looked < first ? looked : first;
	}
	l->looked_ms = first;
	return 0;
}

int
start_look(struct call *c, const struct serving_list *hosts,
           int64_t *out_looked_ms)
{
	int64_t deadline = clock_mono_ns() + LOOK_WAIT_NS;
	struct looks l = {.hosts = hosts};
	int rc = ask_looks(c, &l)
	                 ?: db_watch_until(c, have_looked, &l, deadline);

	if (!rc)
		*out_looked_ms = l.looked_ms;
	return rc;
}

static void
detail_match(struct call *c, const struct service *service, int64_t looked_ms)
{
	CLEANUP_BUF struct buf match = BUF_INIT(BUF_MAX_SMALL);
	char time[RFC3339_LEN];

	if (*service->match_kind)
		buf_addf(&match, "%s=%s", service->match_kind,
		         service->match_value);
	detail_text(c, "match", buf_str(&match));
	clock_format(looked_ms, time);
	detail_text(c, "lookedAt", time);
	if (!strcmp(service->match_kind, "pidFile"))
		detail_text(
			c, "hint",
			"a pid file names no process if it was written a "
			"day before that process began, or if it says 1, as "
			"those of containers do");
}

/* Checks, if no process is known, whether matching processes are outside the
 * scope. */
static int
read_refused(struct call *c, const char *service, enum start_running *out)
{
	CLEANUP_TREES struct process_tree_list list = {0};
	int64_t refused = 0;
	int rc = process_tree_list(&c->env->store, c->caller.tenant, service,
	                           &list);

	for (size_t i = 0; i < list.n; i++)
		refused += list.items[i].refused;
	if (rc || !refused)
		return rc;
	detail_int(c, "matchesOutOfScope", refused);
	*out = START_OUT_OF_SCOPE;
	return 0;
}

/* --- where a capture is to be --------------------------------------------- */

/* The only host that may be listed; "": any. */
static const char *
only_host(const struct start_ask *ask)
{
	bool any = !*ask->host || !strcmp(ask->host, START_EVERYWHERE);

	return any ? ask->service->host : ask->host;
}

static bool
runs_somewhere(const struct serving_list *l)
{
	return l->n && l->items[0].runs; /* hosts that run it are first */
}

static int
read_serving(struct call *c, const struct start_ask *ask, int64_t ordinal,
             struct serving_list *out)
{
	serving_list_done(out);
	return worker_serving(&c->env->store, c->caller.tenant,
	                      ask->service->name, ordinal, only_host(ask),
	                      START_HOSTS_MAX + 1, out);
}

static int
read_running(struct call *c, const struct start_ask *ask,
             enum start_running *running, struct serving_list *out)
{
	CLEANUP_SERVING struct serving_list any = {0};
	int rc = read_serving(c, ask, ask->ordinal, out);

	*running = START_RUNS;
	if (rc || runs_somewhere(out))
		return rc;
	rc = read_serving(c, ask, SESSION_ALL_ORDINALS, &any);
	*running = runs_somewhere(&any) ? START_NO_SUCH_ORDINAL
	                                : START_NOTHING_RUNS;
	return rc;
}

static int
no_worker(struct call *c, const struct start_ask *ask)
{
	detail_text(c, "service", ask->service->name);
	detail_text(c, "host", only_host(ask));
	detail_text(c, "reason", "no worker of that host is alive");
	return fail_retry(c, 5, WorkerUnavailable, ask->service->name);
}

/* Asks the workers to look again, since no process is known. Sets *running to
 * START_RUNS if one of them did not answer. */
static int
look_again(struct call *c, const struct start_ask *ask,
           enum start_running *running, struct serving_list *hosts)
{
	int64_t looked_ms = 0;
	int rc = start_look(c, hosts, &looked_ms);

	if (rc == -ETIMEDOUT || rc == -ECANCELED) {
		*running = START_RUNS;
		return 0;
	}
	if (!rc)
		rc = read_running(c, ask, running, hosts);
	if (!rc && *running == START_NOTHING_RUNS)
		rc = read_refused(c, ask->service->name, running);
	if (!rc && *running != START_RUNS)
		detail_match(c, ask->service, looked_ms);
	return rc;
}

/* Keeps the first n hosts. */
static void
keep_hosts(struct serving_list *l, size_t n)
{
	for (size_t i = n; i < l->n; i++)
		free(l->items[i].host);
	l->n = n;
}

static int
several_hosts(struct call *c, const struct start_ask *ask,
              const struct serving_list *l, size_t n)
{
	CLEANUP_BUF struct buf names = BUF_INIT(BUF_MAX_SMALL);

	for (size_t i = 0; i < n && i < HOSTS_NAMED; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", l->items[i].host);
	if (n > HOSTS_NAMED)
		buf_addf(&names, ", and more");
	detail_text(c, "service", ask->service->name);
	detail_text(c, "hosts", buf_str(&names));
	return fail(c, SeveralHosts, ask->service->name, buf_str(&names));
}

/* Chooses among the hosts where the service runs. If none is known, the first
 * host's worker asks an endpoint. */
static int
choose(struct call *c, const struct start_ask *ask, struct serving_list *l)
{
	size_t n = 0;

	while (n < l->n && l->items[n].runs)
		n++;
	if (!strcmp(ask->host, START_EVERYWHERE) && n > START_HOSTS_MAX) {
		detail_text(c, "service", ask->service->name);
		return fail(c, TooManyHosts, ask->service->name,
		            START_HOSTS_MAX);
	}
	if (strcmp(ask->host, START_EVERYWHERE) != 0 && n > 1)
		return several_hosts(c, ask, l, n);
	keep_hosts(l, n ? n : 1);
	return 0;
}

static int
check_host(struct call *c, const struct start_ask *ask)
{
	const char *own = ask->service->host;

	if (!*own || !strcmp(only_host(ask), own))
		return 0;
	return fail_param(c, "host", "the host that the service names",
	                  ask->host);
}

int
start_find_hosts(struct call *c, const struct start_ask *ask,
                 enum start_running *running, struct serving_list *out)
{
	int rc;

	if (check_host(c, ask))
		return -1;
	rc = read_running(c, ask, running, out);
	if (!rc && !out->n)
		return no_worker(c, ask);
	if (!rc && *running != START_RUNS && ask->outside) {
		call_pause(c); /* workers cannot write their answer during this
		                  transaction */
		rc = look_again(c, ask, running, out);
		if (!rc && call_begin(c))
			return -1;
	}
	if (rc)
		return fail_store(c, rc);
	if (!ask->outside)
		*running = START_RUNS;
	return *running == START_RUNS ? choose(c, ask, out) : 0;
}

int
start_no_ordinal(struct call *c, const char *service, int64_t ordinal)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)ordinal);
	detail_text(c, "service", service);
	detail_int(c, "ordinal", ordinal);
	return fail(c, UnknownOrdinal, text);
}

int
start_enqueue(struct call *c, const struct session_ask *ask, const char *host,
              char id[static ID_MAX])
{
	CLEANUP_BUF struct buf detail = BUF_INIT(1024);
	struct store *store = &c->env->store;

	json_open(&detail, NULL, '{');
	json_put_text(&detail, "service", ask->service);
	json_put_text(&detail, "profileType", ask->type);
	json_put_int(&detail, "durationSeconds", ask->seconds);
	json_put_text(&detail, "host", host);
	json_close(&detail, '}');
	return store_begin(store)
	               ?: audit_end(c, job_enqueue(store, ask, host, id), id,
	                            buf_str(&detail));
}
