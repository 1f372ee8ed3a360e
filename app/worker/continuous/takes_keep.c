/* Programs that are made to count for as long as their windows are wanted. */
#include "base/clock.h"
#include "base/log.h"
#include "store/session.h"
#include "periodic_private.h"

#include <errno.h>
#include <string.h>

/* Until it is over unless it is said again, and between saying it: where
 * nobody can say that it is over, it is soon. */
#define KEEP_MS  30000
#define AGAIN_NS (10 * NS_PER_S)

int
take_keep(struct takes *t, struct take *v, const struct targets *targets)
{
	struct followed now;

	if (!v->kept)
		v->kept = calloc(1, sizeof(*v->kept));
	if (!v->kept)
		return -ENOMEM;
	targets_followed(targets, v->tenant, v->service, SESSION_ALL_ORDINALS,
	                 &now);
	v->kept->what = v->keep;
	v->kept->npids = now.n;
	memcpy(v->kept->pids, now.pids, now.n * sizeof(*now.pids));
	return worker_may(t->windows->events, v->keep, KEEP_MS, v->kept->pids,
	                  v->kept->npids);
}

void
take_keep_end(struct takes *t, struct take *v)
{
	if (v->kept && worker_may(t->windows->events, v->kept->what, 0,
	                          v->kept->pids, v->kept->npids))
		log_debug("%s: the opener takes no messages", v->service);
	if (v->kept) /* another service may want it of these, too */
		t->kept_ns = 0;
	free(v->kept);
	v->kept = NULL;
}

void
takes_keep(struct takes *t, const struct targets *targets, int64_t now_ns)
{
	if (now_ns - t->kept_ns < AGAIN_NS)
		return;
	t->kept_ns = now_ns;
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].kept && take_keep(t, &t->items[i], targets))
			log_debug("%s: the opener takes no messages",
			          t->items[i].service);
}
