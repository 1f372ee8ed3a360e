#include "opener_fetcher.h"

#include "base/log.h"
#include "worker/ipc/messages.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Runs the fetcher, and never returns. */
static void
be_fetcher(fetcher_child_run *run, const struct conf *conf,
           const struct identity *who, pid_t parent, int socket)
{
	char own[CONF_HOST_MAX];
	sigset_t none;
	int rc;

	privilege_close_but(&socket, 1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	rc = privilege_drop(who, parent);
	if (!rc)
		rc = conf_host(conf, own);
	if (!rc)
		rc = run(conf, own, socket);
	if (rc && rc != -EPIPE)
		log_err("fetcher: %s", strerror(-rc));
	_exit(rc && rc != -EPIPE ? 1 : 0);
}

static int
start(struct fetcher_child *c, fetcher_child_run *run, const struct conf *conf,
      const struct identity *who, int *out)
{
	pid_t self = getpid();
	int pair[2];
	int rc = msg_pair(pair);

	if (rc)
		return rc;
	c->pid = fork();
	if (c->pid == 0)
		be_fetcher(run, conf, who, self, pair[1]);
	rc = c->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc) {
		c->pid = 0;
		close(pair[0]);
		return rc;
	}
	*out = pair[0];
	return 0;
}

void
fetcher_child_start(struct fetcher_child *c, fetcher_child_run *run,
                    const struct conf *conf, const struct identity *who,
                    int events)
{
	struct msg_fetcher m = {.type = MSG_FETCHER};
	CLEANUP_FD int socket = -1;

	if (c->pid)
		kill(c->pid, SIGKILL);
	m.error = start(c, run, conf, who, &socket);
	if (msg_send(events, &m, sizeof(m), &socket, socket >= 0))
		log_debug("nobody hears of the fetcher");
}

void
fetcher_child_died(struct fetcher_child *c, int status)
{
	if (WIFSIGNALED(status))
		log_err("fetcher died: %s", strsignal(WTERMSIG(status)));
	c->pid = 0;
}
