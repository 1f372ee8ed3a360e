/* Waiting until a profile has ended. */
#include "base/clock.h"
#include "profile_json.h"
#include "endpoint/call/db_watch.h"

#include <string.h>

bool
profile_runs(const struct session *s)
{
	return !strcmp(s->status, SESSION_RUNNING);
}

/* At each commit; what can't be watched is answered as it is now. */
static void
wait_ended(struct call *c, int64_t deadline_ns, struct session *s)
{
	CLEANUP_WATCH struct watch w = {.fd = -1};
	struct session now = {0};

	if (watch_open(&c->env->store, &w))
		return;
	do {
		if (session_get(&c->env->store, s->tenant, s->id, &now))
			return;
		session_done(s);
		*s = now;
	} while (profile_runs(s) && !watch_wait(&w, c->req, deadline_ns));
}

void
profile_wait(struct call *c, int64_t seconds, struct session *s)
{
	if (!profile_runs(s) || !counters_wait_begin(c->env->counters))
		return;
	wait_ended(c, clock_mono_ns() + seconds * NS_PER_S, s);
	counters_wait_end(c->env->counters);
}
