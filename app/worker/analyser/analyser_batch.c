/*
 * Children that read pieces from one file and write results to two others.
 * Each kind has one child at a time.
 */
#include "analyser.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool
be_writer(const struct analyser *a, const struct host *host, void *arg)
{
	const struct analyser_batch *b = arg;
	struct stat st;
	void *p;

	(void)host;
	recorder_drop_trees(a->captures, NULL);
	if (fstat(b->input, &st) || !st.st_size)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, b->input, 0);
	if (p == MAP_FAILED)
		return false;
	if (b->kind->write(b, p, (size_t)st.st_size))
		log_debug("%s are not written", b->kind->name);
	return false;
}

void
analyser_batch_init(struct analyser_batch *b,
                    const struct analyser_batch_kind *kind)
{
	*b = (struct analyser_batch){
		.kind = kind, .input = -1, .data = -1, .rows = -1};
}

static void
clear(struct analyser_batch *b)
{
	close_ptr(&b->input);
	close_ptr(&b->data);
	close_ptr(&b->rows);
	analyser_batch_init(b, b->kind);
}

static void
report(const struct analyser *a, struct analyser_batch *b,
       enum capture_error error)
{
	struct msg_batch m = {.type = b->kind->reply, .error = error};
	int fds[] = {b->data, b->rows};

	if (msg_send(a->socket, &m, sizeof(m), fds,
	             b->rows < 0 ? 0 : ARRAY_LEN(fds)))
		log_debug("%s: the scheduler takes no messages", b->kind->name);
	clear(b);
}

static int
begin(struct analyser *a, struct analyser_batch *b)
{
	if (b->input < 0)
		return -EBADF;
	b->data = memfd_create("stoker-batch", MFD_CLOEXEC);
	b->rows = memfd_create("stoker-batch-rows", MFD_CLOEXEC);
	if (b->data < 0 || b->rows < 0)
		return -errno;
	return analyser_fork(a, be_writer, b, &b->pid);
}

void
analyser_batch_start(struct analyser *a, struct analyser_batch *b, int input)
{
	int rc;

	if (b->pid) { /* the last answer has not been sent yet */
		close_ptr(&input);
		return;
	}
	clear(b);
	b->input = input;
	rc = begin(a, b);
	if (rc) {
		close_ptr(&b->rows); /* there is nothing to send */
		report(a, b, analyser_error(NULL, rc));
	}
}

void
analyser_batch_ended(const struct analyser *a, struct analyser_batch *b,
                     pid_t pid, bool good)
{
	if (b->pid && b->pid == pid)
		report(a, b, good ? CAPTURE_OK : CAPTURE_FINISH_DIED);
}
