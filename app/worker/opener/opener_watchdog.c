#include "opener_watchdog.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "opener.h"

static struct watched *
part(struct opener *o, int client)
{
	if (client == o->ask)
		return &o->watchdog.scheduler;
	return client == o->ask_analyser ? &o->watchdog.analyser : NULL;
}

void
watchdog_alive(struct opener *o, int client)
{
	struct watched *w = part(o, client);

	if (w)
		*w = (struct watched){.watched = true, .heard = true};
}

void
watchdog_heard(struct opener *o, int client)
{
	struct watched *w = part(o, client);

	if (w)
		w->heard = true;
}

static void
look_at(struct opener *o, struct watched *w, pid_t pid, const char *name)
{
	if (!w->watched)
		return;
	if (w->heard)
		w->silent = 0;
	else
		w->silent++;
	w->heard = false;
	if (w->silent < WATCHDOG_LOOKS)
		return;
	log_err("the %s has not answered for %lld s (watchdog of [worker]): it "
	        "is ended, and started anew",
	        name, (long long)o->conf->worker_watchdog);
	*w = (struct watched){0};
	ended_kill(&o->ended, pid);
}

uint32_t
watchdog_hanging(const struct opener *o)
{
	const struct watched *a = &o->watchdog.analyser;

	return ended_stuck(&o->ended) |
	       (a->silent >= WATCHDOG_LOOKS / 2 ? HOST_NO_ANALYSER : 0);
}

int
watchdog_look(struct opener *o)
{
	int64_t every = o->conf->worker_watchdog * NS_PER_S / WATCHDOG_LOOKS;
	int64_t now = clock_mono_ns();

	if (now >= o->watchdog.next_ns) {
		look_at(o, &o->watchdog.scheduler, o->scheduler, "scheduler");
		look_at(o, &o->watchdog.analyser, o->analyser, "analyser");
		notify_manager("WATCHDOG=1");
		o->watchdog.next_ns = now + every;
	}
	return (int)((o->watchdog.next_ns - now) / NS_PER_MS) + 1;
}
