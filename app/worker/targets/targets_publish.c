#include "targets.h"

#include "store/session.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

int
targets_restore(struct targets *t, struct store *s)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	int rc = process_tree_forget(s, t->host)
	                 ?: process_list_host(s, t->host, &l);

	for (size_t i = 0; i < l.n && !rc; i++) {
		const struct process *p = &l.items[i];
		struct target *v = targets_find(t, p->tenant, p->service);

		if (!v || p->ordinal < 0 || p->ordinal >= TARGET_SLOTS) {
			rc = process_remove(s, p);
			continue;
		}
		v->shown[p->ordinal].pid = -1; /* never right: to be written */
		if (!strcmp(p->boot_id, t->boot_id) && p->pid > 0 &&
		    p->pid <= INT32_MAX)
			v->now[p->ordinal] = (struct slot){
				(int32_t)p->pid, (uint64_t)p->start_time, 0};
	}
	return rc;
}

static int
publish_slot(const struct targets *t, const struct target *v, int i,
             struct store *s, const struct proc_table *procs)
{
	const struct proc *p = proc_table_find(procs, v->now[i].pid);
	struct process row = {
		.host = (char *)t->host,
		.tenant = v->tenant,
		.service = v->service,
		.boot_id = (char *)t->boot_id,
		.ordinal = i,
	};
	int rc;

	if (!p)
		return process_remove(s, &row);
	row.argv0 = p->argv0;
	row.cmdline = p->cmdline;
	row.pid = p->pid;
	row.start_time = (int64_t)p->start_time;
	rc = process_put(s, &row);
	return rc == -EEXIST ? 0 : rc; /* its service is gone since */
}

static bool
is_shown(const struct target *v, int i)
{
	const struct slot *a = &v->now[i], *b = &v->shown[i];

	return a->pid == b->pid && a->start_time == b->start_time &&
	       a->text == b->text;
}

static int
publish_tree(const struct targets *t, const struct target *v, struct store *s)
{
	struct followed now;
	struct process_tree row = {
		.host = (char *)t->host,
		.tenant = v->tenant,
		.service = v->service,
	};
	int rc;

	targets_followed(t, v->tenant, v->service, SESSION_ALL_ORDINALS, &now);
	row.followed = now.n;
	row.other_unit = now.left.other_unit;
	row.out_of_scope = now.left.out_of_scope;
	row.too_many = now.left.too_many;
	row.refused = now.left.refused;
	rc = process_tree_put(s, &row);
	return rc == -EEXIST ? 0 : rc; /* its service is gone since */
}

static bool
is_due(const struct target *v, int64_t now_ns)
{
	return v->stamp != v->stamp_shown &&
	       (!v->stamp_shown || v->refused != v->refused_shown ||
	        now_ns - v->shown_ns >= TARGETS_SHOW_NS);
}

static int
publish_changes(const struct targets *t, const struct target *v,
                struct store *s, const struct proc_table *procs, int64_t now_ns)
{
	int rc = 0;

	for (int i = 0; i < TARGET_SLOTS && !rc; i++)
		if (!is_shown(v, i))
			rc = publish_slot(t, v, i, s, procs);
	return !rc && is_due(v, now_ns) ? publish_tree(t, v, s) : rc;
}

static void
note_shown(struct target *v, int64_t now_ns)
{
	memcpy(v->shown, v->now, sizeof(v->now));
	if (!is_due(v, now_ns))
		return;
	v->stamp_shown = v->stamp;
	v->refused_shown = v->refused;
	v->shown_ns = now_ns;
}

static bool
is_news(const struct target *v, int64_t now_ns)
{
	for (int i = 0; i < TARGET_SLOTS; i++)
		if (!is_shown(v, i))
			return true;
	return is_due(v, now_ns);
}

static bool
any_news(const struct targets *t, int64_t now_ns)
{
	for (size_t n = 0; n < t->n; n++)
		if (is_news(&t->items[n], now_ns))
			return true;
	return false;
}

static int
publish(struct targets *t, struct store *s, const struct proc_table *procs,
        int64_t now_ns)
{
	int rc = store_begin(s);

	if (rc)
		return rc;
	for (size_t n = 0; n < t->n && !rc; n++)
		rc = publish_changes(t, &t->items[n], s, procs, now_ns);
	return store_end(s, rc);
}

int
targets_publish(struct targets *t, struct store *s,
                const struct proc_table *procs, int64_t now_ns)
{
	int rc = any_news(t, now_ns) ? publish(t, s, procs, now_ns) : 0;

	t->waits = false;
	for (size_t n = 0; n < t->n && !rc; n++) {
		struct target *v = &t->items[n];

		note_shown(v, now_ns);
		t->waits |= v->stamp != v->stamp_shown;
	}
	return rc;
}
