#include "store/worker.h"

#include "base/clock.h"
#include "store/db/row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field worker_fields[] = {
	ROW_FIELD(worker, host),
	ROW_FIELD(worker, boot_id),
	ROW_FIELD(worker, version),
	ROW_FIELD(worker, capabilities),
	ROW_FIELD(worker, pid),
	ROW_FIELD(worker, started_ms),
	ROW_FIELD(worker, heartbeat_ms),
	ROW_FIELD(worker, alive_until_ms),
	ROW_FIELD(worker, told_ms),
	ROW_FIELD(worker, clock_ms),
	ROW_FIELD(worker, waiting_windows),
	ROW_FIELD(worker, waiting_bytes),
	ROW_FIELD(worker, waiting_results),
	ROW_FIELD(worker, waiting_since_ms),
	ROW_FIELD(worker, alive),
	ROW_FIELD(worker, joined),
};
static const struct row_type worker_type = ROW_TYPE(worker, worker_fields);

static const struct row_field process_fields[] = {
	ROW_FIELD(worker_process, host),
	ROW_FIELD(worker_process, tenant),
	ROW_FIELD(worker_process, service),
	ROW_FIELD(worker_process, boot_id),
	ROW_FIELD(worker_process, argv0),
	ROW_FIELD(worker_process, cmdline),
	ROW_FIELD(worker_process, ordinal),
	ROW_FIELD(worker_process, pid),
	ROW_FIELD(worker_process, start_time),
	ROW_FIELD(worker_process, seen_ms),
};
static const struct row_type process_type =
	ROW_TYPE(worker_process, process_fields);

static const struct row_field tree_fields[] = {
	ROW_FIELD(process_tree, host),
	ROW_FIELD(process_tree, tenant),
	ROW_FIELD(process_tree, service),
	ROW_FIELD(process_tree, followed),
	ROW_FIELD(process_tree, other_unit),
	ROW_FIELD(process_tree, out_of_scope),
	ROW_FIELD(process_tree, too_many),
	ROW_FIELD(process_tree, refused),
};
static const struct row_type tree_type = ROW_TYPE(process_tree, tree_fields);

static const struct row_field serving_fields[] = {
	ROW_FIELD(serving, host),
	ROW_FIELD(serving, runs),
};
static const struct row_type serving_type = ROW_TYPE(serving, serving_fields);

ROW_LIST_DONE(serving_list, serving_type)
ROW_LIST_DONE(worker_list, worker_type)
ROW_LIST_DONE(process_list, process_type)
ROW_LIST_DONE(process_tree_list, tree_type)

/* Lists workers whose clocks are off by more than this. */
static int
list_off(struct store *s, const char *tenant, int64_t ms,
         struct worker_list *out)
{
	return ROW_LIST(s->db, &worker_type, out, SQL_WORKER_LIST,
	                ARGS(V(tenant), V(ms)));
}

int
worker_list(struct store *s, const char *tenant, struct worker_list *out)
{
	return list_off(s, tenant, -1, out);
}

int
worker_list_off(struct store *s, const char *tenant, struct worker_list *out)
{
	return list_off(s, tenant, CLOCK_AGREE_MS, out);
}

int
worker_serving(struct store *s, const char *tenant, const char *service,
               int64_t ordinal, const char *host, int64_t max,
               struct serving_list *out)
{
	return ROW_LIST(
		s->db, &serving_type, out, SQL_WORKER_SERVING,
		ARGS(V(tenant), V(service), V(ordinal), V(host), V(max)));
}

int
worker_for(struct store *s, const char *tenant, const char *service,
           const char *host, char **out)
{
	CLEANUP_SERVING struct serving_list l = {0};
	int rc = worker_serving(s, tenant, service, -1, host, 1, &l);

	if (rc || !l.n)
		return rc ? rc : -EHOSTDOWN;
	*out = TAKE(l.items[0].host);
	return 0;
}

int
worker_lock_path(const struct conf *conf, char out[static PATH_MAX])
{
	char host[CONF_HOST_MAX];
	int rc = conf_host(conf, host);

	if (rc)
		return rc;
	for (char *c = host; (c = strchr(c, '/'));)
		*c = '_';
	return (size_t)snprintf(out, PATH_MAX, "%s/worker-%s.lock",
	                        conf->store_dir, host) < PATH_MAX
	               ? 0
	               : -ENAMETOOLONG;
}

int
worker_heartbeat(struct store *s, const struct worker *w, int64_t lease_ms)
{
	return db_change(s->db, -EEXIST, SQL_WORKER_PUT,
	                 ARGS(V(w->host), V(w->boot_id), V(w->version),
	                      V(w->pid), V(w->capabilities), V(lease_ms),
	                      V(w->tenants ? w->tenants : "*"), V(w->told_ms),
	                      V(w->clock_ms), V(w->waiting_windows),
	                      V(w->waiting_bytes), V(w->waiting_results),
	                      V(w->waiting_since_ms)));
}

int
worker_clock(struct store *s, int64_t *out_ahead_ms)
{
	int64_t asked_ms = clock_wall_ms(), ms;
	int rc = store_now(s, &ms);

	if (!rc)
		*out_ahead_ms = clock_ahead(asked_ms, ms, clock_wall_ms());
	return rc;
}

int
worker_tenants(struct store *s, const char *host, char **out, char **out_boot)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	CLEANUP_FREE char *boot = NULL;
	int rc = db_first(s->db, SQL_WORKER_TENANTS, ARGS(V(host)), &rows);

	if (rc)
		return rc;
	if (out_boot && !(boot = strdup(db_col_text(&rows, 1))))
		return -ENOMEM;
	*out = strdup(db_col_text(&rows, 0));
	if (*out && out_boot)
		*out_boot = TAKE(boot);
	return *out ? 0 : -ENOMEM;
}

static int
forget(struct store *s, const char *host)
{
	return db_change(s->db, -ENOENT, SQL_WORKER_FORGET, ARGS(V(host)))
	               ?: db_do(s->db, SQL_PROCESS_REMOVE_HOST, ARGS(V(host)))
	               ?: process_tree_forget(s, host);
}

int
worker_forget(struct store *s, const char *host)
{
	return store_begin(s) ?: store_end(s, forget(s, host));
}

int
worker_prune(struct store *s, int64_t max_age_ms)
{
	return db_run(s->db, SQL_WORKER_PRUNE, ARGS(V(max_age_ms)));
}

int
worker_look_ask(struct store *s, const char *host, int64_t *out_ms)
{
	return row_ints(s->db, out_ms, 1, SQL_WORKER_LOOK_ASK, ARGS(V(host)));
}

int
worker_look(struct store *s, const char *host, int64_t *out_wanted_ms,
            int64_t *out_looked_ms)
{
	int64_t at[2];
	int rc = row_ints(s->db, at, 2, SQL_WORKER_LOOK, ARGS(V(host)));

	if (rc)
		return rc;
	*out_wanted_ms = at[0];
	*out_looked_ms = at[1];
	return 0;
}

int
worker_looked(struct store *s, const char *host, int64_t at_ms)
{
	return db_do(s->db, SQL_WORKER_LOOKED, ARGS(V(at_ms), V(host)));
}

static int
stop(struct store *s, const char *host)
{
	return db_do(s->db, SQL_PROCESS_REMOVE_HOST, ARGS(V(host)))
	               ?: process_tree_forget(s, host)
	               ?: db_do(s->db, SQL_WORKER_STOP, ARGS(V(host)));
}

int
worker_stop(struct store *s, const char *host)
{
	return store_begin(s) ?: store_end(s, stop(s, host));
}

int
process_list(struct store *s, const char *tenant, const char *service,
             struct process_list *out)
{
	return ROW_LIST(s->db, &process_type, out, SQL_PROCESS_LIST,
	                ARGS(V(tenant), V(service)));
}

int
process_list_host(struct store *s, const char *host, struct process_list *out)
{
	return ROW_LIST(s->db, &process_type, out, SQL_PROCESS_LIST_HOST,
	                ARGS(V(host)));
}

int
process_list_tenants(struct store *s, const char *host, const char *tenants,
                     struct process_list *out)
{
	return ROW_LIST(s->db, &process_type, out, SQL_PROCESS_LIST_TENANTS,
	                ARGS(V(host), V(tenants)));
}

int
agent_processes(struct store *s, const char *host, struct process_list *out)
{
	return ROW_LIST(s->db, &process_type, out, SQL_AGENT_PROCESSES,
	                ARGS(V(host)));
}

int
agent_trees(struct store *s, const char *host, struct process_tree_list *out)
{
	return ROW_LIST(s->db, &tree_type, out, SQL_AGENT_TREES, ARGS(V(host)));
}

int
process_put(struct store *s, const struct worker_process *p)
{
	return db_do(s->db, SQL_PROCESS_PUT,
	             ARGS(V(p->host), V(p->tenant), V(p->service),
	                  V(p->boot_id), V(p->argv0), V(p->cmdline),
	                  V(p->ordinal), V(p->pid), V(p->start_time)));
}

int
process_remove(struct store *s, const struct worker_process *p)
{
	return db_do(
		s->db, SQL_PROCESS_REMOVE,
		ARGS(V(p->tenant), V(p->service), V(p->host), V(p->ordinal)));
}

int
process_tree_list(struct store *s, const char *tenant, const char *service,
                  struct process_tree_list *out)
{
	return ROW_LIST(s->db, &tree_type, out, SQL_PROCESS_TREE_LIST,
	                ARGS(V(tenant), V(service)));
}

int
process_tree_put(struct store *s, const struct process_tree *t)
{
	return db_do(s->db, SQL_PROCESS_TREE_PUT,
	             ARGS(V(t->host), V(t->tenant), V(t->service),
	                  V(t->followed), V(t->other_unit), V(t->out_of_scope),
	                  V(t->too_many), V(t->refused)));
}

int
process_tree_forget(struct store *s, const char *host)
{
	return db_do(s->db, SQL_PROCESS_TREE_REMOVE_HOST, ARGS(V(host)));
}
