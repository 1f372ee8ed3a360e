/*
 * Keeps the filter in the kernel from one sampler to the next: verifying its
 * program takes the kernel 10 ms and more.
 */
#include "base/file.h"
#include "sampler_private.h"

#include <string.h>
#include <sys/mman.h>

void
sampler_filter_free(struct sampler_filter *f)
{
	if (!f)
		return;
	interp_unmap_rings(f);
	interp_unmap(&f->interp);
	if (f->denied)
		munmap(f->denied, f->ndenied / 8);
	close_ptr(&f->prog_fd);
	free(f);
}

DEFINE_CLEANUP(struct sampler_filter *, sampler_filter_free)

static struct sampler_filter *
map_filter(const struct sampler_ask *ask, uint32_t nbits, int *fds, size_t nfds)
{
	CLEANUP(sampler_filter_free_ptr)
	struct sampler_filter *f = calloc(1, sizeof(*f));
	void *p;

	if (!f)
		return NULL;
	f->prog_fd = TAKE_FD(fds[1]);
	p = mmap(NULL, nbits / 8, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0],
	         0);
	if (p == MAP_FAILED)
		return NULL;
	f->period_ns = ask->period_ns;
	f->ncpus = ask->ncpus;
	f->ndenied = nbits;
	f->denied = p;
	if (nfds > 3) {
		interp_map(&f->interp, fds[2]);
		interp_map_rings(f, fds[3]);
	}
	return TAKE(f);
}

static struct sampler_filter *
new_filter(const struct sampler_ask *ask, const struct host *host)
{
	struct host_ask question = {
		.op = HOST_FILTER,
		.period_ns = ask->period_ns,
		.cpu = ask->ncpus,
	};
	struct sampler_filter *f = NULL;
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;

	if (host->ask(host->arg, &question, &reply, fds, &nfds))
		return NULL;
	if (!reply.error && nfds >= 3)
		f = map_filter(ask, reply.value, fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		close_ptr(&fds[i]);
	return f;
}

struct sampler_filter *
filter_take(const struct sampler_ask *ask, const struct host *host)
{
	struct sampler_filter *f = ask->kept ? *ask->kept : NULL;

	if (!f || f->period_ns != ask->period_ns || f->ncpus != ask->ncpus)
		return new_filter(ask, host);
	memset(f->denied, 0, f->ndenied / 8);
	interp_forget(&f->interp);
	return TAKE(*ask->kept);
}
