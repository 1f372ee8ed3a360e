/*
 * POST /agent/poll: a host reports its state, and gets work for its worker.
 *
 *	host                                  centre
 *	version, pid, capabilities, bootId,
 *	clockMs, waiting...                -> its row of worker
 *	processes, trees                   -> rows of process, process_tree
 *	jobs: attempt, phase, samples      -> leases and progress of its jobs
 *	generation, room, looked
 *	                                   <- services, when they differ
 *	                                   <- jobs that it does not run yet
 *	                                   <- cancel, complete, stale, look,
 *	                                      next poll
 *
 * A job is sent until the host reports it, so a lost reply is repeated by the
 * next one. A job that the host reports is stale unless it exists, on that host
 * and under that attempt. The key determines host and tenants; everything else
 * that a host sends is about itself.
 */
#include "base/clock.h"
#include "endpoint/call.h"
#include "store/agent.h"
#include "store/continuous.h"
#include "store/token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS      1000
#define POLL_MAX_MS  2000 /* shorter than a start waits for a look */
#define POLL_HOST_MS 10   /* for each host that is alive */

/* A job that the host reports. */
struct reported {
	struct job_ref ref;
	const char *phase;
	int64_t percent, samples;
	bool kept; /* it is not stale */
};

struct poll {
	struct call *c;
	struct store *store;
	const char *host, *tenants;
	int64_t lease_ms;
	struct reported reported[AGENT_JOBS_MAX];
	size_t n;
	struct buf cancel, complete; /* elements of lists */
	bool busy;                   /* the host has jobs that run */
};

static const char *const phases[] = {"queued", "capturing", "symbolizing",
                                     "storing", "done"};

static bool
is_phase(const char *s)
{
	for (size_t i = 0; i < ARRAY_LEN(phases); i++)
		if (!strcmp(phases[i], s))
			return true;
	return false;
}

/* --- what the host reports ------------------------------------------------ */

/* Records the clock that a host reports, and its backlog. A host sends times as
 * spans, since its clock may be wrong. */
static int
read_waiting(struct poll *p, struct worker *w)
{
	int64_t clock_ms = param_int(p->c, P_PollAgent_clockMs), now_ms, ago_ms;
	int rc = clock_ms ? store_now(p->store, &now_ms) : 0;

	if (rc || !clock_ms)
		return rc;
	w->told_ms = now_ms;
	w->clock_ms = clock_ms - now_ms;
	w->waiting_windows = param_int(p->c, P_PollAgent_waitingWindows);
	w->waiting_bytes = param_int(p->c, P_PollAgent_waitingBytes);
	w->waiting_results = param_int(p->c, P_PollAgent_waitingResults);
	ago_ms = param_int(p->c, P_PollAgent_waitingMs);
	if (w->waiting_windows)
		w->waiting_since_ms = ago_ms < now_ms ? now_ms - ago_ms : 1;
	return 0;
}

/* A worker that shares this store keeps its name, even if a key is for a host
 * of that name. A copy of a host's disk has the host's key: of the two, the
 * one that polls first is served. A host that boots again within its lease is
 * taken for a copy until the lease has expired. */
static int
check_host(struct poll *p)
{
	CLEANUP_FREE char *tenants = NULL;
	CLEANUP_FREE char *alive = NULL;
	const char *boot = param_text(p->c, P_PollAgent_bootId);
	int rc = worker_tenants(p->store, p->host, &tenants, &alive);

	if (rc)
		return rc == -ENOENT ? 0 : fail_store(p->c, rc);
	if (strcmp(tenants, "*") != 0 &&
	    (!*boot || !*alive || !strcmp(boot, alive)))
		return 0;
	detail_text(p->c, "host", p->host);
	return strcmp(tenants, "*") != 0 ? fail(p->c, HostCopied, p->host)
	                                 : fail(p->c, HostTaken, p->host);
}

static int
beat(struct poll *p)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const json_t *can = param_json(p->c, P_PollAgent_capabilities);
	struct worker w = {
		.host = (char *)p->host,
		.boot_id = (char *)param_text(p->c, P_PollAgent_bootId),
		.version = (char *)param_text(p->c, P_PollAgent_version),
		.pid = param_int(p->c, P_PollAgent_pid),
		.tenants = p->tenants,
	};
	int rc = 0;

	if (!param_given(p->c, P_PollAgent_version))
		return 0;
	if (can && json_write(can, &text))
		return fail_param(p->c, "capabilities", "at most 64 KiB",
		                  "more");
	w.capabilities = (char *)(can ? buf_str(&text) : "{}");
	rc = read_waiting(p, &w) ?: worker_heartbeat(p->store, &w, p->lease_ms);
	return rc ? fail_store(p->c, rc) : 0;
}

/* Reads the name and tenant of a service. Only the store knows whether they
 * exist. */
static int
read_owner(struct call *c, const char *list, const json_t *j, char **tenant,
           char **service)
{
	struct value t = {0}, s = {0};

	if (member_read(c, list, j, "tenant", &t) ||
	    member_read(c, list, j, "service", &s))
		return -1;
	if (!id_valid("", t.s) || !name_valid(s.s))
		return fail_param(c, list, "a tenant and a service each", s.s);
	*tenant = (char *)t.s;
	*service = (char *)s.s;
	return 0;
}

static int
read_process(struct poll *p, const json_t *j, struct worker_process *out)
{
	struct call *c = p->c;
	struct value ordinal = {0}, pid = {0}, start = {0}, argv0 = {0},
		     cmdline = {0};

	if (read_owner(c, "processes", j, &out->tenant, &out->service) ||
	    member_read(c, "processes", j, "ordinal", &ordinal) ||
	    member_read(c, "processes", j, "pid", &pid) ||
	    member_read(c, "processes", j, "startTime", &start) ||
	    member_read(c, "processes", j, "argv0", &argv0) ||
	    member_read(c, "processes", j, "cmdline", &cmdline))
		return -1;
	out->host = (char *)p->host;
	out->boot_id = (char *)param_text(c, P_PollAgent_bootId);
	out->ordinal = ordinal.i;
	out->pid = pid.i;
	out->start_time = start.i;
	out->argv0 = (char *)argv0.s;
	out->cmdline = (char *)cmdline.s;
	return 0;
}

static int
read_tree(struct poll *p, const json_t *j, struct process_tree *out)
{
	static const char *const names[] = {"followed", "otherUnit",
	                                    "outOfScope", "tooMany", "refused"};
	int64_t *const to[] = {&out->followed, &out->other_unit,
	                       &out->out_of_scope, &out->too_many,
	                       &out->refused};

	if (read_owner(p->c, "trees", j, &out->tenant, &out->service))
		return -1;
	out->host = (char *)p->host;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct value v = {0};

		if (member_read(p->c, "trees", j, names[i], &v))
			return -1;
		*to[i] = v.i;
	}
	return 0;
}

/* Strings are borrowed from the body. */
static int
put_processes(struct poll *p)
{
	const json_t *list = param_json(p->c, P_PollAgent_processes);
	const json_t *trees = param_json(p->c, P_PollAgent_trees);
	struct process_list now = {0};
	struct process_tree_list of = {0};
	CLEANUP_FREE struct worker_process *rows = NULL;
	CLEANUP_FREE struct process_tree *nodes = NULL;
	size_t i;
	json_t *j;
	int rc;

	if (!list)
		return 0;
	now.items = rows = calloc(json_array_size(list) + 1, sizeof(*rows));
	of.items = nodes = calloc(json_array_size(trees) + 1, sizeof(*nodes));
	if (!rows || !nodes)
		return fail_memory(p->c);
	json_array_foreach(list, i, j) {
		if (read_process(p, j, &rows[now.n++]))
			return -1;
	}
	json_array_foreach(trees, i, j) {
		if (read_tree(p, j, &nodes[of.n++]))
			return -1;
	}
	rc = agent_processes_put(p->store, p->host, p->tenants, &now, &of);
	return rc ? fail_store(p->c, rc) : 0;
}

/* Accepts the time of a look only if that look was requested: a host may not
 * report a later one. */
static int
take_look(struct poll *p)
{
	int64_t looked = param_int(p->c, P_PollAgent_looked), wanted, before;
	int rc;

	if (!looked)
		return 0;
	rc = worker_look(p->store, p->host, &wanted, &before);
	if (!rc && looked > before && looked <= wanted)
		rc = worker_looked(p->store, p->host, looked);
	return rc && rc != -ENOENT ? fail_store(p->c, rc) : 0;
}

static int
read_reported(struct poll *p)
{
	const json_t *list = param_json(p->c, P_PollAgent_jobs);
	size_t i;
	json_t *j;

	json_array_foreach(list, i, j) {
		struct reported *t = &p->reported[p->n];
		struct value id = {0}, attempt = {0}, phase = {0},
			     percent = {0}, samples = {0};

		if (member_read(p->c, "jobs", j, "sessionId", &id) ||
		    member_read(p->c, "jobs", j, "attempt", &attempt) ||
		    member_read(p->c, "jobs", j, "phase", &phase) ||
		    member_read(p->c, "jobs", j, "percent", &percent) ||
		    member_read(p->c, "jobs", j, "samples", &samples))
			return -1;
		if (!id_valid(SESSION_PREFIX, id.s))
			return fail_param(p->c, "sessionId",
			                  "a session identifier", id.s);
		if (!is_phase(phase.s))
			return fail_param(p->c, "phase", "a phase of a job",
			                  phase.s);
		snprintf(t->ref.session, sizeof(t->ref.session), "%s", id.s);
		t->ref.attempt = attempt.i;
		t->phase = phase.s;
		t->percent = percent.i;
		t->samples = samples.i;
		p->n++;
	}
	return 0;
}

/* --- what the centre has -------------------------------------------------- */

static struct reported *
reported_of(struct poll *p, const char *session)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->reported[i].ref.session, session))
			return &p->reported[i];
	return NULL;
}

/* Resumes jobs that were requeued while the host was silent. */
static int
resume(struct poll *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->n && rc >= 0; i++)
		rc = agent_resume(p->store, p->host, &p->reported[i].ref,
		                  p->lease_ms);
	return rc < 0 ? rc : 0;
}

/* Fails a job of a tenant that the host's key does not open. */
static int
refuse_tenant(struct poll *p, const struct job *j)
{
	const struct job_end end = {
		"failed",
		"HostForbidden",
		"the key of the host's worker does not open the tenant",
		NULL,
		NULL,
		NULL,
		NULL};
	struct job_ref ref = job_ref(j);
	int rc = job_finish(p->store, &ref, &end);

	return rc == -ESTALE ? 0 : rc;
}

static int
claim(struct poll *p)
{
	int64_t room = param_int(p->c, P_PollAgent_room);
	int rc = 0;

	while (!rc && room > 0) {
		CLEANUP_JOB struct job j = {0};

		rc = job_claim(p->store, p->host, p->lease_ms, room, &j);
		if (rc)
			break;
		if (token_is_within(j.tenant, p->tenants))
			room--;
		else
			rc = refuse_tenant(p, &j);
	}
	return rc == -ENOENT ? 0 : rc;
}

/* Renews the lease of a job that the host has. */
static int
renew(struct poll *p, struct reported *t)
{
	const struct job_state now = {
		.progress = (double)t->percent / 100,
		.phase = strcmp(t->phase, "done") ? t->phase : "storing",
		.samples = t->samples,
	};
	struct buf *list;
	int64_t ending;
	int rc = job_progress(p->store, &t->ref, p->lease_ms, &now, &ending);

	t->kept = rc != -ESTALE;
	if (rc)
		return rc == -ESTALE ? 0 : rc;
	if (!ending)
		return 0;
	list = ending == JOB_COMPLETE ? &p->complete : &p->cancel;
	buf_puts(list, list->len ? "," : "");
	json_escape(list, t->ref.session, strlen(t->ref.session));
	return 0;
}

static void
put_job(struct buf *out, const struct agent_job *j)
{
	json_open(out, NULL, '{');
	json_put_text(out, "sessionId", j->session);
	json_put_text(out, "tenant", j->tenant);
	json_put_text(out, "service", j->service);
	json_put_text(out, "profileType", j->type);
	json_put_text(out, "origin", j->origin);
	json_put_raw(out, "labels", j->labels, "{}");
	json_put_text(out, "createdBy", j->created_by);
	json_put_int(out, "attempt", j->attempt);
	json_put_int(out, "ordinal", j->ordinal);
	json_put_int(out, "durationSeconds", j->asked_seconds);
	json_put_int(out, "sampleRate", j->asked_rate);
	json_close(out, '}');
}

/* Renews the running jobs of the host that its poll listed, and writes the
 * others. */
static int
put_jobs(struct poll *p, struct buf *out)
{
	CLEANUP_AGENT_JOBS struct agent_job_list l = {0};
	int rc = agent_running(p->store, p->host, &l);

	json_open(out, "jobs", '[');
	for (size_t i = 0; i < l.n && !rc; i++) {
		const struct agent_job *j = &l.items[i];
		struct reported *t = reported_of(p, j->session);

		if (!token_is_within(j->tenant, p->tenants))
			continue;
		p->busy = true;
		if (t && t->ref.attempt == j->attempt)
			rc = renew(p, t);
		else
			put_job(out, j);
		if (t)
			t->kept = true;
	}
	json_close(out, ']');
	return rc;
}

/* True when the result may still count, though the job was given up. */
static bool
may_come(const struct agent_job *j, const struct reported *t)
{
	return j->attempt == t->ref.attempt &&
	       (!strcmp(j->state, "running") ||
	        !strcmp(j->error_code, "WorkerDied"));
}

static int
put_stale(struct poll *p, struct buf *out)
{
	int rc = 0;

	json_open(out, "stale", '[');
	for (size_t i = 0; i < p->n && !rc; i++) {
		CLEANUP_AGENT_JOB struct agent_job j = {0};
		struct reported *t = &p->reported[i];

		if (t->kept)
			continue;
		rc = agent_find(p->store, p->host, t->ref.session, &j);
		if (rc == -ENOENT ||
		    (!rc && (!token_is_within(j.tenant, p->tenants) ||
		             !may_come(&j, t)))) {
			json_put_text(out, NULL, t->ref.session);
			rc = 0;
		}
	}
	json_close(out, ']');
	return rc;
}

/* --- services ------------------------------------------------------------- */

static int
each_tenant(struct poll *p,
            int (*fn)(struct poll *p, const char *tenant, struct buf *out),
            struct buf *out)
{
	const char *at = p->tenants;
	int rc = 0;

	while (*at && !rc) {
		char tenant[STORE_TENANT_MAX];
		size_t n = strcspn(at, " ");

		if (n >= sizeof(tenant))
			return -EINVAL;
		snprintf(tenant, sizeof(tenant), "%.*s", (int)n, at);
		rc = fn(p, tenant, out);
		at += n + strspn(at + n, " ");
	}
	return rc;
}

/* Appends a tenant's generation, or "?" while it is unsettled: the reply then
 * has no generation. */
static int
add_generation(struct poll *p, const char *tenant, struct buf *out)
{
	char one[AGENT_GENERATION];
	int rc = agent_generation(p->store, tenant, p->host, one);

	if (!rc)
		buf_addf(out, "%s%s=%s", out->len ? "," : "", tenant,
		         *one ? one : "?");
	return rc;
}

/* Writes the settings of continuous profiling, if there are any. */
static int
put_continuous(struct poll *p, const struct service *v, struct buf *out)
{
	CLEANUP_CONTINUOUS struct continuous on = {0};
	int rc = continuous_get(p->store, v->tenant, v->name, &on);

	json_open(out, "continuous", '{');
	if (!rc) {
		json_put_raw(out, "types", on.types, "[]");
		json_put_int(out, "sampleRate", on.sample_rate);
		json_put_int(out, "retentionDays", on.retention_days);
		json_put_bool(out, "enabled", on.enabled);
	}
	json_close(out, '}');
	return rc == -ENOENT ? 0 : rc;
}

static int
put_service(struct poll *p, const struct service *v, struct buf *out)
{
	int rc;

	json_open(out, NULL, '{');
	json_put_text(out, "tenant", v->tenant);
	json_put_text(out, "name", v->name);
	json_put_text(out, "kind", v->kind);
	json_put_text(out, "host", v->host);
	json_put_text(out, "matchKind", v->match_kind);
	json_put_text(out, "matchValue", v->match_value);
	json_put_text(out, "pprofUrl", v->pprof_url);
	json_put_text(out, "source", v->source);
	json_put_raw(out, "allow", v->allow, "{}");
	json_put_raw(out, "labels", v->labels, "{}");
	json_put_text(out, "description", v->description);
	json_put_text(out, "collector", v->collector);
	rc = put_continuous(p, v, out);
	json_close(out, '}');
	return rc;
}

static int
put_services_of(struct poll *p, const char *tenant, struct buf *out)
{
	CLEANUP_FREE char *cursor = strdup("");
	int rc = cursor ? 0 : -ENOMEM;

	while (!rc && cursor) {
		CLEANUP_SERVICES struct service_list l = {0};
		struct page page = {.limit = STORE_PAGE_MAX, .cursor = cursor};

		rc = service_list(p->store, tenant, page, &l);
		for (size_t i = 0; i < l.n && !rc; i++)
			if (!*l.items[i].host ||
			    !strcmp(l.items[i].host, p->host))
				rc = put_service(p, &l.items[i], out);
		free(cursor);
		cursor = TAKE(l.next);
	}
	return rc;
}

static int
put_services(struct poll *p, struct buf *out)
{
	CLEANUP_BUF struct buf now = BUF_INIT(BUF_MAX_SMALL);
	const char *had = param_text(p->c, P_PollAgent_generation);
	bool settled, changed;
	int rc = each_tenant(p, add_generation, &now) ?: buf_err(&now);

	if (rc)
		return rc;
	settled = !strchr(buf_str(&now), '?');
	changed = !settled || strcmp(had, buf_str(&now)) != 0;
	json_put_text(out, "generation", settled ? buf_str(&now) : "");
	json_put_bool(out, "changed", changed);
	json_open(out, "services", '[');
	if (changed)
		rc = each_tenant(p, put_services_of, out);
	json_close(out, ']');
	return rc;
}

/* --- the reply ------------------------------------------------------------ */

static int
put_look(struct poll *p, struct buf *out)
{
	int64_t wanted = 0, looked = 0;
	int rc = worker_look(p->store, p->host, &wanted, &looked);

	json_put_int(out, "look", wanted > looked ? wanted : 0);
	return rc == -ENOENT ? 0 : rc;
}

static int
put_times(struct poll *p, struct buf *out)
{
	int64_t most = POLL_MAX_MS / POLL_HOST_MS, alive = 0, ms = POLL_MS;
	int64_t now_ms = 0;
	int rc = p->busy ? 0 : agent_alive(p->store, most, &alive);

	if (alive * POLL_HOST_MS > ms)
		ms = alive * POLL_HOST_MS;
	rc = rc ?: store_now(p->store, &now_ms);
	json_put_int(out, "nowMs", now_ms);
	json_put_int(out, "pollMs", ms);
	json_put_int(out, "leaseMs", p->lease_ms);
	json_put_int(out, "maxBytes", p->c->env->conf->upload_max_bytes);
	return rc;
}

static int
answer(struct poll *p)
{
	struct buf *out;
	int rc = call_expire_jobs(p->c) ?: resume(p) ?: claim(p);

	if (rc)
		return fail_store(p->c, rc);
	out = answer_json(p->c);
	rc = put_services(p, out) ?: put_jobs(p, out) ?: put_stale(p, out);
	if (!rc) {
		json_open(out, "cancel", '[');
		buf_add(out, p->cancel.p, p->cancel.len);
		json_close(out, ']');
		json_open(out, "complete", '[');
		buf_add(out, p->complete.p, p->complete.len);
		json_close(out, ']');
		rc = put_look(p, out) ?: put_times(p, out);
	}
	return rc ? fail_store(p->c, rc) : answer_end(p->c);
}

int
agent_poll(struct call *c)
{
	CLEANUP_FREE struct poll *p = calloc(1, sizeof(*p));
	const char *host = param_text(c, P_PollAgent_host);
	int rc;

	if (!p)
		return fail_memory(c);
	if (*host && strcmp(host, c->caller.host) != 0)
		return fail_param(c, "host", "the host of the key", host);
	p->c = c;
	p->store = &c->env->store;
	p->host = c->caller.host;
	p->tenants = c->caller.tenants;
	p->lease_ms = c->env->conf->worker_lease * MS_PER_S;
	p->cancel = p->complete = (struct buf)BUF_INIT(BUF_MAX_SMALL);
	rc = read_reported(p) || check_host(p) || beat(p) || put_processes(p) ||
	     take_look(p);
	rc = rc ? -1 : answer(p);
	buf_done(&p->cancel);
	buf_done(&p->complete);
	return rc;
}
