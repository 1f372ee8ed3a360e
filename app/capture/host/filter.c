#include "capture/event.h"
#include "capture/host/filter.skel.h"
#include "filter_layout.h"
#include "program.h"

#include <errno.h>

DEFINE_CLEANUP(struct filter_bpf *, filter_bpf__destroy)

/* Sets the sizes of the maps, and which program is loaded. */
static int
set_sizes(struct filter_bpf *bpf, const struct filter_ask *ask, uint32_t nbits,
          bool writes)
{
	int rc = bpf_map__set_value_size(bpf->maps.processes, nbits / 8);

	bpf->rodata->nbits = nbits;
	bpf->rodata->data = ask->ring_bytes;
	program_kernel(bpf->rodata->kernel_has);
	bpf_program__set_autoload(bpf->progs.stoker_filter, writes);
	bpf_program__set_autoload(bpf->progs.stoker_filter_only, !writes);
	if (!writes)
		return rc
		               ?: bpf_map__set_autocreate(bpf->maps.rings,
		                                          false)
		               ?: bpf_map__set_autocreate(bpf->maps.wakes,
		                                          false);
	return rc
	               ?: bpf_map__set_value_size(bpf->maps.rings,
	                                          filter_ring_bytes(ask->ring_bytes))
	               ?: bpf_map__set_max_entries(bpf->maps.rings, ask->ncpus)
	               ?: bpf_map__set_max_entries(
				       bpf->maps.wakes,
				       (uint32_t)sysconf(_SC_PAGESIZE));
}

static int
keep_all(const struct filter_bpf *bpf, uint32_t nbits, bool writes,
         struct filter *out)
{
	const int of[FILTER_FDS] = {
		[FILTER_DENIED] = bpf_map__fd(bpf->maps.processes),
		[FILTER_PROGRAM] =
			bpf_program__fd(writes ? bpf->progs.stoker_filter
	                                       : bpf->progs.stoker_filter_only),
		[FILTER_INTERPS] = bpf_map__fd(bpf->maps.interps),
		[FILTER_RINGS] = bpf_map__fd(bpf->maps.rings),
		[FILTER_WAKES] = bpf_map__fd(bpf->maps.wakes),
	};

	*out = (struct filter){.nfds = 0, .nbits = nbits};
	while (out->nfds < (writes ? FILTER_FDS : FILTER_INTERPS)) {
		int fd = program_keep(of[out->nfds]);

		if (fd < 0) {
			filter_close(out);
			return fd;
		}
		out->fds[out->nfds++] = fd;
	}
	return 0;
}

static int
load(const struct filter_ask *ask, uint32_t nbits, bool writes,
     struct filter *out)
{
	CLEANUP(filter_bpf__destroy_ptr)
	struct filter_bpf *bpf = filter_bpf__open();
	int rc = bpf ? set_sizes(bpf, ask, nbits, writes) : -errno;

	if (!rc)
		rc = filter_bpf__load(bpf);
	return rc ? rc : keep_all(bpf, nbits, writes, out);
}

void
filter_close(struct filter *f)
{
	while (f->nfds)
		close(f->fds[--f->nfds]);
}

int
filter_open(const struct filter_ask *ask, struct filter *out)
{
	uint32_t nbits = program_pids();
	int rc = program_namespace();

	if (!rc && (!ask->ncpus || ask->ncpus > FILTER_MAX_CPUS ||
	            ask->ring_bytes < FILTER_LEAST_RING ||
	            ask->ring_bytes > FILTER_MOST_RING ||
	            ask->ring_bytes & (ask->ring_bytes - 1)))
		rc = -EINVAL;
	if (rc)
		return rc;
	libbpf_set_print(NULL);
	/* A kernel may refuse stoker_filter as too large or too new. */
	rc = load(ask, nbits, true, out);
	return rc ? load(ask, nbits, false, out) : 0;
}
