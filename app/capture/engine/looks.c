#include "capture/looks.h"

#include "capture/process/process.h"

#include <errno.h>
#include <string.h>

bool
looks_fatal(int rc)
{
	return rc == -ENOMEM || rc == -E2BIG;
}

static int
rank(int rc, bool yields)
{
	switch (rc) {
	case -ESRCH:
		return 0;
	case -ENOEXEC:
		return yields ? 5 : 1;
	case -EPROTO:
		return 3;
	case -ENODATA:
		return 4;
	default:
		return 2;
	}
}

static int
worse(int last, int rc, bool yields)
{
	return rank(rc, yields) >= rank(last, yields) ? rc : last;
}

int
looks_worse(int last, int rc)
{
	return worse(last, rc, false);
}

void *
looks_row(const struct looks *l, uint32_t i)
{
	return l->rows + i * l->verbs->size;
}

static struct process *
process_of(const struct looks *l, uint32_t i)
{
	return *(struct process **)looks_row(l, i);
}

static int
look(struct looks *l, int32_t pid, bool joined)
{
	void *row = looks_row(l, l->n);
	int rc = l->verbs->first(l->arg, row, pid, joined);

	if (!rc) {
		l->n++;
		return 0;
	}
	l->verbs->done(row);
	memset(row, 0, l->verbs->size);
	return rc;
}

int
looks_open(struct looks *l, const struct looks_verbs *verbs, void *arg,
           const struct engine_ask *ask)
{
	*l = (struct looks){
		.verbs = verbs,
		.arg = arg,
		.room = ask->npids + ENGINE_MAX_JOINED,
		.last = -ESRCH,
	};
	l->rows = calloc(l->room, verbs->size);
	if (!l->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < ask->npids; i++) {
		int rc = look(l, ask->pids[i], false);

		if (looks_fatal(rc))
			return rc;
		l->unread += rc && rc != -ESRCH;
		if (rc)
			l->last = worse(l->last, rc, verbs->yields);
	}
	return l->n ? 0 : l->last;
}

void
looks_done(struct looks *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		l->verbs->done(looks_row(l, i));
	free(l->rows);
}

static bool
is_known(const struct looks *l, int32_t pid)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (process_of(l, i)->pid == (uint32_t)pid)
			return true;
	return false;
}

int
looks_join(struct looks *l, const int32_t *pids, size_t n)
{
	for (size_t i = 0; i < n && l->n < l->room; i++) {
		int rc = is_known(l, pids[i]) ? 0 : look(l, pids[i], true);

		if (looks_fatal(rc))
			return rc;
	}
	return 0;
}

int
looks_again(struct looks *l, void *arg, struct profile *p, struct quality *q)
{
	l->last = -ESRCH;
	for (uint32_t i = 0; i < l->n; i++) {
		int rc = l->verbs->again(arg, looks_row(l, i));

		if (!rc)
			rc = engine_name(process_of(l, i), p);
		if (looks_fatal(rc))
			return rc;
		if (rc)
			l->last = rc;
		l->ended += rc == -ESRCH;
		q->processes += !rc;
		q->processes_unread += rc && rc != -ESRCH;
	}
	q->processes_unread += l->unread;
	return 0;
}
