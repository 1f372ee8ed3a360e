#include "store/agent.h"

#include "base/clock.h"
#include "session_private.h"
#include "store/db/row.h"
#include "store/token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SETTLED_MS 2000 /* wait after a change */

/* A host may have thousands of processes: after this many rows, other writers,
 * which try several times a millisecond, get a chance. */
#define PART_ROWS     100
#define PART_PAUSE_NS NS_PER_MS

static const struct row_field job_fields[] = {
	ROW_FIELD(agent_job, session),
	ROW_FIELD(agent_job, tenant),
	ROW_FIELD(agent_job, service),
	ROW_FIELD(agent_job, type),
	ROW_FIELD(agent_job, origin),
	ROW_FIELD(agent_job, labels),
	ROW_FIELD(agent_job, created_by),
	ROW_FIELD(agent_job, host),
	ROW_FIELD(agent_job, state),
	ROW_FIELD(agent_job, error_code),
	ROW_FIELD(agent_job, attempt),
	ROW_FIELD(agent_job, ordinal),
	ROW_FIELD(agent_job, asked_seconds),
	ROW_FIELD(agent_job, asked_rate),
	ROW_FIELD(agent_job, cancel_requested),
};
static const struct row_type job_type = ROW_TYPE(agent_job, job_fields);

static const struct row_field held_fields[] = {
	ROW_FIELD(agent_held, session),       ROW_FIELD(agent_held, tenant),
	ROW_FIELD(agent_held, status),        ROW_FIELD(agent_held, state),
	ROW_FIELD(agent_held, phase),         ROW_FIELD(agent_held, error_code),
	ROW_FIELD(agent_held, error_message), ROW_FIELD(agent_held, attempt),
	ROW_FIELD(agent_held, dropped),       ROW_FIELD(agent_held, refused),
	ROW_FIELD(agent_held, samples),       ROW_FIELD(agent_held, progress),
};
static const struct row_type held_type = ROW_TYPE(agent_held, held_fields);

static const struct row_field service_fields[] = {
	ROW_FIELD(agent_service, tenant),
	ROW_FIELD(agent_service, service),
	ROW_FIELD(agent_service, made),
};
static const struct row_type service_type =
	ROW_TYPE(agent_service, service_fields);

ROW_DONE(agent_job, job_type)
ROW_LIST_DONE(agent_job_list, job_type)
ROW_LIST_DONE(agent_held_list, held_type)
ROW_LIST_DONE(agent_service_list, service_type)

/* --- the centre's side ---------------------------------------------------- */

int
agent_running(struct store *s, const char *host, struct agent_job_list *out)
{
	const int64_t most = AGENT_JOBS_MAX;

	return ROW_LIST(s->db, &job_type, out, SQL_AGENT_RUNNING,
	                ARGS(V(host), V(most)));
}

int
agent_find(struct store *s, const char *host, const char *session,
           struct agent_job *out)
{
	return row_one(s->db, &job_type, out, SQL_AGENT_FIND,
	               ARGS(V(session), V(host)));
}

int
agent_resume(struct store *s, const char *host, const struct job_ref *j,
             int64_t lease_ms)
{
	return db_run(s->db, SQL_AGENT_RESUME,
	              ARGS(V(lease_ms), V(j->session), V(host), V(j->attempt)));
}

/* Sets the times of the capture, which must not precede the request. */
static int
set_times(struct store *s, const char *tenant, const char *id,
          const struct agent_times *t)
{
	CLEANUP_SESSION struct session v = {0};
	int64_t now, began, ended;
	int rc = store_now(s, &now) ?: session_get(s, tenant, id, &v);

	if (rc)
		return rc;
	began = now - t->began_ago_ms;
	ended = now - t->ended_ago_ms;
	if (began < v.created_ms)
		began = v.created_ms;
	if (ended < began)
		ended = began;
	return db_do(s->db, SQL_SESSION_TIMES, ARGS(V(began), V(ended), V(id)));
}

static int
finish(struct store *s, const struct agent_job *j, const struct job_end *end,
       const struct agent_times *times)
{
	struct job_ref ref = {.attempt = j->attempt};

	snprintf(ref.session, sizeof(ref.session), "%s", j->session);
	return db_do(s->db, SQL_AGENT_REVIVE,
	             ARGS(V(ref.session), V(ref.attempt)))
	               ?: job_finish(s, &ref, end)
	               ?: set_times(s, j->tenant, j->session, times);
}

int
agent_finish(struct store *s, const struct agent_job *j,
             const struct job_end *end, const struct agent_times *times)
{
	return store_begin(s) ?: store_end(s, finish(s, j, end, times));
}

int
agent_generation(struct store *s, const char *tenant, const char *host,
                 char out[static AGENT_GENERATION])
{
	int64_t now, parts[3];
	int rc = store_now(s, &now)
	                 ?: row_ints(s->db, parts, 3, SQL_AGENT_GENERATION,
	                             ARGS(V(tenant), V(host)));

	if (rc)
		return rc;
	if (now - parts[1] < SETTLED_MS)
		out[0] = '\0';
	else
		snprintf(out, AGENT_GENERATION, "%lld.%lld.%lld",
		         (long long)parts[0], (long long)parts[1],
		         (long long)parts[2]);
	return 0;
}

int
agent_alive(struct store *s, int64_t most, int64_t *out)
{
	return row_int(s->db, out, SQL_AGENT_ALIVE, ARGS(V(most)));
}

/* --- processes ------------------------------------------------------------ */

/* The last service that was looked up: rows of one service are adjacent. */
struct known {
	const char *tenant, *name;
	bool is;
};

static int
is_known(struct store *s, const char *tenants, const char *tenant,
         const char *name, struct known *k)
{
	CLEANUP_SERVICE struct service v = {0};
	int rc;

	if (k->name && !strcmp(k->tenant, tenant) && !strcmp(k->name, name))
		return k->is;
	rc = token_is_within(tenant, tenants) ? service_get(s, tenant, name, &v)
	                                      : -ENOENT;
	if (rc && rc != -ENOENT)
		return rc;
	*k = (struct known){tenant, name, !rc};
	return k->is;
}

/* Compares processes by tenant, service and ordinal. */
static int
compare(const void *a, const void *b)
{
	const struct worker_process *x = a, *y = b;
	int rc = strcmp(x->tenant, y->tenant) ?: strcmp(x->service, y->service);

	return rc ? rc : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

/* Sorts processes for find_process(): a database may order texts
 * differently. */
static void
sort(struct process_list *l)
{
	if (l->n)
		qsort(l->items, l->n, sizeof(*l->items), compare);
}

/* Returns the row of a process in a sorted list, or NULL. */
static const struct worker_process *
find_process(const struct process_list *l, const struct worker_process *p)
{
	return l->n ? bsearch(p, l->items, l->n, sizeof(*l->items), compare)
	            : NULL;
}

/* Rows that are written in several transactions. */
struct parts {
	struct store *s;
	size_t rows;
	bool is_open;
};

/* Call this before each row. */
static int
next_row(struct parts *p)
{
	const struct timespec pause = {0, PART_PAUSE_NS};
	int rc = 0;

	if (p->is_open && p->rows % PART_ROWS == 0) {
		p->is_open = false;
		rc = store_end(p->s, 0);
		nanosleep(&pause, NULL);
	}
	if (!rc && !p->is_open) {
		rc = store_begin(p->s);
		p->is_open = !rc;
	}
	p->rows++;
	return rc;
}

static int
remove_gone(struct parts *p, const struct process_list *was,
            const struct process_list *now)
{
	int rc = 0;

	for (size_t i = 0; i < was->n && !rc; i++)
		if (!find_process(now, &was->items[i]))
			rc = next_row(p)
			             ?: process_remove(p->s, &was->items[i]);
	return rc;
}

static bool
is_same(const struct worker_process *a, const struct worker_process *b)
{
	return a->pid == b->pid && a->start_time == b->start_time &&
	       !strcmp(a->boot_id, b->boot_id) && !strcmp(a->argv0, b->argv0) &&
	       !strcmp(a->cmdline, b->cmdline);
}

/* Writes only rows that differ: other writers have to wait, and a row keeps
 * the time at which its process was first seen. */
static int
put_processes(struct parts *p, const char *tenants,
              const struct process_list *was, const struct process_list *now)
{
	struct known known = {0};
	int rc = 0;

	for (size_t i = 0; i < now->n && rc >= 0; i++) {
		const struct worker_process *row = &now->items[i],
					    *there = find_process(was, row);

		if (there && is_same(there, row))
			continue;
		rc = next_row(p)
		             ?: is_known(p->s, tenants, row->tenant,
		                         row->service, &known);
		if (rc > 0)
			rc = process_put(p->s, row);
	}
	return rc < 0 ? rc : 0;
}

static int
put_trees(struct parts *p, const char *host, const char *tenants,
          const struct process_tree_list *trees)
{
	struct known known = {0};
	int rc = next_row(p)
	                 ?: db_run(p->s->db, SQL_PROCESS_TREE_REMOVE_TENANTS,
	                           ARGS(V(host), V(tenants)));

	for (size_t i = 0; i < trees->n && rc >= 0; i++) {
		const struct process_tree *t = &trees->items[i];

		rc = next_row(p)
		             ?: is_known(p->s, tenants, t->tenant, t->service,
		                         &known);
		if (rc > 0)
			rc = process_tree_put(p->s, t);
	}
	return rc < 0 ? rc : 0;
}

int
agent_processes_put(struct store *s, const char *host, const char *tenants,
                    struct process_list *now,
                    const struct process_tree_list *trees)
{
	CLEANUP_PROCESSES struct process_list was = {0};
	struct parts p = {.s = s};
	int rc;

	rc = process_list_tenants(s, host, tenants, &was);
	if (rc)
		return rc;
	sort(&was);
	sort(now);
	rc = remove_gone(&p, &was, now)
	             ?: put_processes(&p, tenants, &was, now)
	             ?: put_trees(&p, host, tenants, trees);
	return p.is_open ? store_end(s, rc) : rc;
}

/* --- a host's side -------------------------------------------------------- */

/* Adds session and job, unless they exist. */
static int
insert(struct store *s, const char *host, const struct agent_job *j)
{
	CLEANUP_SERVICE struct service service = {0};
	CLEANUP_SESSION struct session there = {0};
	int rc = service_get(s, j->tenant, j->service, &service);

	if (rc)
		return rc;
	rc = session_get(s, j->tenant, j->session, &there);
	if (rc != -ENOENT)
		return rc;
	return db_change(s->db, -EEXIST, SQL_SESSION_INSERT,
	                 ARGS(V(j->session), V(j->type), V(j->origin),
	                      V(SESSION_RUNNING), V(j->ordinal),
	                      V(j->asked_seconds), V(j->asked_rate),
	                      V(j->labels), V(j->created_by), V(host),
	                      V(j->tenant), V(j->service)))
	               ?: db_do(s->db, SQL_JOB_INSERT,
	                        ARGS(V(j->session), V(host)));
}

static int
take(struct store *s, const char *host, const struct agent_job *j)
{
	return insert(s, host, j)
	               ?: db_do(s->db, SQL_AGENT_PUT,
	                        ARGS(V(j->session), V(j->tenant),
	                             V(j->attempt)));
}

int
agent_take(struct store *s, const char *host, const struct agent_job *j)
{
	return store_begin(s) ?: store_end(s, take(s, host, j));
}

int
agent_held(struct store *s, struct agent_held_list *out)
{
	const int64_t most = AGENT_JOBS_MAX;

	return ROW_LIST(s->db, &held_type, out, SQL_AGENT_HELD, ARGS(V(most)));
}

int
agent_drop(struct store *s, const char *tenant, const char *session)
{
	int rc = db_do(s->db, SQL_AGENT_DROP, ARGS(V(session)))
	                 ?: job_cancel(s, tenant, session);

	return rc == -ENOENT || rc == -EALREADY ? 0 : rc;
}

int
agent_refuse(struct store *s, const char *session)
{
	return db_do(s->db, SQL_AGENT_REFUSE, ARGS(V(session)));
}

static int
forget(struct store *s, const struct agent_held *h, bool keep)
{
	int rc = db_do(s->db, SQL_AGENT_FORGET, ARGS(V(h->session)));

	if (rc || keep || !*h->status)
		return rc;
	/* while it waits for a collector, its bytes are needed */
	rc = db_run(s->db, SQL_DELIVERY_MAKE_LAST, ARGS(V(h->session)));
	if (!rc)
		rc = session_drop(s, h->tenant, h->session);
	return rc < 0 ? rc : 0;
}

int
agent_forget(struct store *s, const struct agent_held *h, bool keep)
{
	return store_begin(s) ?: store_end(s, forget(s, h, keep));
}

/* --- the centre's services on a host -------------------------------------- */

/* Adds or replaces a service; the centre checks its quota. Returns 1 for a new
 * service, else 0. */
static int
put_service(struct store *s, const struct service *v)
{
	int64_t made;
	int rc = service_replace(s, v);

	made = rc == -ENOENT;
	if (made)
		rc = db_do(s->db, SQL_SERVICE_INSERT,
		           ARGS(V(v->tenant), V(v->name), V(v->kind),
		                V(v->host), V(v->match_kind), V(v->match_value),
		                V(v->pprof_url), V(v->source), V(v->allow),
		                V(v->labels), V(v->description), V(""), V(""),
		                V(v->collector ? v->collector : ""),
		                V(SERVICE_NO_METRICS)));
	if (!rc)
		rc = db_do(s->db, SQL_AGENT_SERVICE_PUT,
		           ARGS(V(v->tenant), V(v->name), V(made)));
	return rc ? rc : (int)made;
}

/* A service that the host already had keeps its continuous profiling, unless
 * the centre has settings for it. */
static int
put_continuous(struct store *s, const struct service *v,
               const struct continuous *on, bool made)
{
	int rc;

	if (on->types)
		return continuous_put(s, on);
	if (!made)
		return 0;
	rc = continuous_delete(s, v->tenant, v->name);
	return rc == -ENOENT ? 0 : rc;
}

static const struct agent_service *
find_service(const struct agent_service_list *l, const struct service *v)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].service, v->name) &&
		    !strcmp(l->items[i].tenant, v->tenant))
			return &l->items[i];
	return NULL;
}

static bool
is_listed(const struct service_list *l, const struct agent_service *v)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].name, v->service) &&
		    !strcmp(l->items[i].tenant, v->tenant))
			return true;
	return false;
}

static int
remove_service(struct store *s, const struct agent_service *v)
{
	if (v->made) {
		int rc = service_delete(s, v->tenant, v->service);

		return rc == -ENOENT ? 0 : rc;
	}
	return db_do(s->db, SQL_AGENT_SERVICE_FORGET,
	             ARGS(V(v->tenant), V(v->service)));
}

static int
put_services(struct store *s, const struct service_list *now,
             const struct continuous *on)
{
	CLEANUP_AGENT_SERVICES struct agent_service_list had = {0};
	int rc = ROW_LIST(s->db, &service_type, &had, SQL_AGENT_SERVICE_LIST,
	                  NO_ARGS);

	for (size_t i = 0; i < had.n && !rc; i++)
		if (!is_listed(now, &had.items[i]))
			rc = remove_service(s, &had.items[i]);
	for (size_t i = 0; i < now->n && !rc; i++) {
		const struct service *v = &now->items[i];
		const struct agent_service *known = find_service(&had, v);

		rc = put_service(s, v);
		if (rc >= 0)
			rc = put_continuous(s, v, &on[i],
			                    known ? known->made : rc);
	}
	return rc;
}

int
agent_services_put(struct store *s, const struct service_list *now,
                   const struct continuous *on)
{
	return store_begin(s) ?: store_end(s, put_services(s, now, on));
}

struct named {
	char *tenant;
};
static const struct row_field named_fields[] = {ROW_FIELD(named, tenant)};
static const struct row_type named_type = ROW_TYPE(named, named_fields);

/* Reads all tenants before it calls fn, which may write. */
int
agent_tenants(struct store *s, int (*fn)(void *arg, const char *tenant),
              void *arg)
{
	void *items = NULL;
	size_t n = 0;
	int rc = row_all(s->db, &named_type, &items, &n, SQL_AGENT_TENANTS,
	                 NO_ARGS);
	const struct named *rows = items;

	for (size_t i = 0; i < n && !rc; i++)
		rc = fn(arg, rows[i].tenant);
	row_free_all(&named_type, items, n);
	return rc;
}
