#include "lib/here.h"

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
	memcpy(fds, out.fds, sizeof(out.fds));
	*nfds = out.nfds;
	return 0;
}

static char nowhere[] = "";
static struct conf conf = {.worker_debug_dir = nowhere,
                           .symbols_debuginfod = nowhere};
const struct host here = {.ask = host_ask_here, .arg = &conf};
