/* How the scheduler's parts know each other. */
#include "base/clock.h"
#include "scheduler_private.h"

#include <string.h>

static void
take_stored(void *arg, const struct take *v)
{
	struct scheduler *s = arg;

	if (!strcmp(v->type, "goroutine"))
		triggers_window(&s->triggers, v->tenant, v->service, v->series,
		                v->made.value, clock_mono_ns());
}

static size_t
functions(void *arg, const char *series,
          const char *names[static ROLLUP_MAX_FUNCTIONS],
          char ids[static ROLLUP_MAX_FUNCTIONS][ID_MAX])
{
	const struct scheduler *s = arg;

	return triggers_functions(&s->triggers, series, names, ids);
}

static void
share(void *arg, const char *id, double percent)
{
	struct scheduler *s = arg;

	triggers_share(&s->triggers, id, percent, clock_mono_ns());
}

void
scheduler_connect(struct scheduler *s)
{
	s->captures.store = s->windows.store = s->rollup.store = &s->store;
	s->selftest = (struct selftest){
		.conf = s->conf,
		.store = &s->store,
		.host = worker_host(&s->io.ask),
		.proc_fd = &s->procs.proc_fd,
	};
	s->captures.findings = s->selftest.findings;
	s->captures.other = scheduler_other;
	s->captures.other_fetched = scheduler_other_fetched;
	s->captures.other_arg = s;
	s->windows.conf = s->conf;
	s->windows.events = s->captures.events = s->io.events;
	s->takes = (struct takes){
		.captures = &s->captures,
		.windows = &s->windows,
		.want_fetcher = scheduler_want_fetcher,
		.stored = take_stored,
		.scanned_ns = &s->scanned_ns,
		.arg = s,
	};
	s->rollup.asker = (struct rollup_asker){s, functions, share};
	s->triggers = (struct triggers){
		.windows = &s->windows,
		.targets = &s->targets,
		.proc_fd = &s->procs.proc_fd,
	};
	s->webhooks = (struct webhooks){
		.captures = &s->captures,
		.want_fetcher = scheduler_want_fetcher,
		.arg = s,
		.waits = true,
	};
}
