#include "opener.h"

#include "capture/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int (*const handlers[HOST_OPS])(const struct conf *,
                                       const struct host_ask *,
                                       struct answer *) = {
#define HOST_OP(op, handler, doc) [HOST_##op] = handler,
#include "capture/host.def"
#undef HOST_OP
};

static void
give(struct answer *out, int fd)
{
	out->fds[out->nfds++] = fd;
}

void
opener_answer(const struct conf *conf, const struct host_ask *ask, int in,
              struct answer *out)
{
	struct host_ask checked = *ask;

	memset(out, 0, sizeof(*out));
	out->in = in;
	checked.path[sizeof(checked.path) - 1] = '\0';
	if (ask->op == HOST_NONE || ask->op >= HOST_OPS)
		out->reply.error = -EINVAL;
	else
		out->reply.error = handlers[ask->op](conf, &checked, out);
}

static int
give_event(const struct host_ask *ask, int32_t task, struct answer *out)
{
	const struct event_ask event = {task, ask->cpu, ask->period_ns,
	                                ask->stack_bytes};
	bool user_only;
	int fd, rc = event_open(&event, &fd, &user_only);

	if (!rc) {
		give(out, fd);
		out->reply.value = user_only;
	}
	return rc;
}

int
open_event(const struct conf *conf, const struct host_ask *ask,
           struct answer *out)
{
	(void)conf;
	return give_event(ask, EVENT_ALL, out);
}

int
open_task_event(const struct conf *conf, const struct host_ask *ask,
                struct answer *out)
{
	(void)conf;
	return ask->pid > 0 ? give_event(ask, ask->pid, out) : -EINVAL;
}

int
open_ring_event(const struct conf *conf, const struct host_ask *ask,
                struct answer *out)
{
	int fd, rc = event_open_ring(ask->pid, ask->cpu, &fd);

	(void)conf;
	if (!rc)
		give(out, fd);
	return rc;
}

int
open_filter(const struct conf *conf, const struct host_ask *ask,
            struct answer *out)
{
	const struct filter_ask want = {ask->period_ns, ask->cpu};
	struct filter got;
	int rc = filter_open(&want, &got);

	(void)conf;
	if (rc)
		return rc;
	out->reply.value = got.nbits;
	give(out, got.map_fd);
	give(out, got.prog_fd);
	if (got.rings_fd >= 0)
		give(out, got.rings_fd);
	return 0;
}

int
open_channel(const struct conf *conf, const struct host_ask *ask,
             struct answer *out)
{
	int pair[2];
	int rc = msg_pair(pair);

	(void)conf;
	(void)ask;
	if (!rc) { /* the second is ours: see opener.c */
		give(out, pair[0]);
		give(out, pair[1]);
	}
	return rc;
}

/* name of /proc/PID, read only. */
static int
open_proc(const struct host_ask *ask, const char *name, struct answer *out)
{
	char path[64];
	int fd;

	if (ask->pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/%s", ask->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	give(out, fd);
	return 0;
}

/* Of whoever is no client: opener.c has the ledgers of what was granted and
 * done. */
int
refuse(const struct conf *conf, const struct host_ask *ask, struct answer *out)
{
	(void)conf;
	(void)ask;
	(void)out;
	return -EPERM;
}

int
open_maps(const struct conf *conf, const struct host_ask *ask,
          struct answer *out)
{
	char path[64];
	struct stat st;

	(void)conf;
	/* A directory has a link per subdirectory, and two. */
	snprintf(path, sizeof(path), "/proc/%d/task", ask->pid);
	if (!stat(path, &st) && st.st_nlink > 2)
		out->reply.value = (uint32_t)st.st_nlink - 2;
	return open_proc(ask, "maps", out);
}

int
open_kallsyms(const struct conf *conf, const struct host_ask *ask,
              struct answer *out)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	(void)conf;
	(void)ask;
	if (fd < 0)
		return -errno;
	give(out, fd);
	return 0;
}

int
read_exe_link(const struct conf *conf, const struct host_ask *ask,
              struct answer *out)
{
	char path[64];
	ssize_t n;

	(void)conf;
	if (ask->pid <= 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/exe", ask->pid);
	n = readlink(path, out->reply.text, sizeof(out->reply.text) - 1);
	if (n < 0)
		return -errno;
	out->reply.text[n] = '\0';
	return 0;
}
