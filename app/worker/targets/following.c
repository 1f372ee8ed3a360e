#include "following.h"

#include <string.h>

static int
send_pids(const struct following *f, int analyser, struct msg_start *m)
{
	memcpy(m->id, f->id, strlen(f->id) + 1);
	return msg_send(analyser, m, sizeof(*m), NULL, 0);
}

static int
send_strangers(const struct following *f, int analyser,
               const struct targets *targets)
{
	struct msg_start m = {.type = MSG_LEAVE};
	size_t at = 0, n;
	int rc = 0;

	while (!rc && (n = targets_strangers(targets, f->tenant, f->service,
	                                     f->ordinal, &at, m.pids,
	                                     WORKER_MAX_PIDS))) {
		m.npids = (uint32_t)n;
		rc = send_pids(f, analyser, &m);
	}
	return rc;
}

int
following_send(struct following *f, int analyser, const struct targets *targets,
               const struct followed *now)
{
	struct msg_start m = {.type = MSG_FOLLOW, .npids = now->n};
	int rc = 0;

	if (!now->stamp || now->stamp == f->stamp)
		return 0;
	memcpy(m.pids, now->pids, now->n * sizeof(*now->pids));
	if (now->n)
		rc = send_pids(f, analyser, &m);
	if (!rc)
		rc = send_strangers(f, analyser, targets);
	if (!rc)
		f->stamp = now->stamp;
	return rc;
}
