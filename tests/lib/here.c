#include "lib/here.h"

#include "capture/snapshot.h"
#include "capture/symbols/symbols_cache.h"
#include "worker/opener/opener.h"

#include <string.h>

int
host_ask_here(void *arg, const struct host_ask *ask, struct host_reply *reply,
              int fds[HOST_MAX_FDS], size_t *nfds)
{
	static struct opener o;
	struct answer out;

	o.conf = arg;
	opener_answer(&o, ask, o.ask, *nfds ? fds[0] : -1, NULL, &out);
	*reply = out.reply;
	memcpy(fds, out.fds, out.nfds * sizeof(*fds));
	*nfds = out.nfds;
	return 0;
}

static char nowhere[] = "";
static struct conf conf = {.worker_debug_dir = nowhere,
                           .symbols_debuginfod = nowhere};
const struct host here = {.ask = host_ask_here, .arg = &conf};

int
here_snapshot(pid_t pid, struct profile **p, struct quality *q)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *symbols =
		symbols_cache_new((size_t)64 << 20);
	const struct engine_ask ask = {.host = &here,
	                               .symbols = symbols,
	                               .type = TYPE_goroutine,
	                               .program = PROGRAM_any,
	                               .pids = &pid,
	                               .npids = 1};
	void *state = NULL;
	int rc = snapshot_engine.open(&ask, &state);

	if (!rc)
		rc = snapshot_engine.finish(state, p, q);
	snapshot_engine.free(state);
	return rc;
}
