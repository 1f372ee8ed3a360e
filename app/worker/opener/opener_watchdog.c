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

	if (w) {
		w->watched = true;
		w->heard = true;
	}
}

void
watchdog_heard(struct opener *o, int client)
{
	struct watched *w = part(o, client);

	if (w)
		w->heard = true;
}

/* Looks at a part when it is time. True if it has been silent for too long:
 * from then on, it is not watched. */
static bool
look_at(struct watched *w, int64_t silence_s, int64_t now_ns, const char *name)
{
	if (now_ns < w->next_ns)
		return false;
	w->next_ns = now_ns + silence_s * NS_PER_S / WATCHDOG_LOOKS;
	w->silent = w->heard || !w->watched ? 0 : w->silent + 1;
	w->heard = false;
	if (w->silent < WATCHDOG_LOOKS)
		return false;
	log_err("the %s has not answered for %lld s (watchdog of [worker]): it "
	        "is ended, and started anew",
	        name, (long long)silence_s);
	*w = (struct watched){.next_ns = w->next_ns};
	return true;
}

static void
look_at_fetcher(struct opener *o, struct watched *w, struct fetcher_child *c,
                int64_t now_ns)
{
	if (fetcher_child_heard(c))
		w->watched = w->heard = true;
	if (!c->pid)
		*w = (struct watched){0};
	else if (look_at(w, fetch_silence_s(o->conf), now_ns,
	                 fetcher_child_name(c)))
		fetcher_child_end(c, &o->ended, o->events);
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
	struct watchdog *w = &o->watchdog;
	int64_t silence = o->conf->worker_watchdog, now = clock_mono_ns();
	int64_t fetchers = fetch_silence_s(o->conf);

	if (now >= w->next_ns) {
		if (look_at(&w->scheduler, silence, now, "scheduler"))
			ended_kill(&o->ended, o->scheduler);
		if (look_at(&w->analyser, silence, now, "analyser"))
			ended_kill(&o->ended, o->analyser);
		look_at_fetcher(o, &w->fetcher, &o->fetcher, now);
		look_at_fetcher(o, &w->courier, &o->courier, now);
		notify_manager("WATCHDOG=1");
		w->next_ns = now + fetchers * NS_PER_S / WATCHDOG_LOOKS;
	}
	return (int)((w->next_ns - now) / NS_PER_MS) + 1;
}
