#include "targets.h"

#include "store/worker.h"

#include <errno.h>
#include <string.h>

int
targets_restore(struct targets *t, struct store *s)
{
	CLEANUP_PROCESSES struct process_list l = {0};
	int rc = process_list_host(s, t->host, &l);

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
publish_changes(struct targets *t, struct store *s,
                const struct proc_table *procs)
{
	int rc = 0;

	for (size_t n = 0; n < t->n; n++)
		for (int i = 0; i < TARGET_SLOTS && !rc; i++)
			if (!is_shown(&t->items[n], i))
				rc = publish_slot(t, &t->items[n], i, s, procs);
	return rc;
}

static bool
all_shown(const struct targets *t)
{
	for (size_t n = 0; n < t->n; n++)
		for (int i = 0; i < TARGET_SLOTS; i++)
			if (!is_shown(&t->items[n], i))
				return false;
	return true;
}

int
targets_publish(struct targets *t, struct store *s,
                const struct proc_table *procs)
{
	int rc;

	if (all_shown(t))
		return 0;
	rc = store_begin(s);
	if (!rc)
		rc = store_end(s, publish_changes(t, s, procs));
	for (size_t n = 0; n < t->n && !rc; n++)
		memcpy(t->items[n].shown, t->items[n].now,
		       sizeof(t->items[n].now));
	return rc;
}
