#include "capture/event.h"
#include "capture/host/filter.skel.h"
#include "capture/interp/interp_ring.h"
#include "program.h"

#include <errno.h>

DEFINE_CLEANUP(struct filter_bpf *, filter_bpf__destroy)

/* Sets the sizes of the maps. stacks == 0: there are no rings. */
static int
set_sizes(struct filter_bpf *bpf, const struct filter_ask *ask, uint32_t nbits,
          uint32_t stacks)
{
	uint32_t bytes = (uint32_t)interp_ring_bytes(stacks);
	struct bpf_map *rings = bpf->maps.rings;
	int rc = bpf_map__set_value_size(bpf->maps.processes, nbits / 8);

	bpf->rodata->nbits = nbits;
	bpf->rodata->stacks = stacks;
	program_kernel(bpf->rodata->kernel_has);
	if (!stacks)
		return rc ? rc : bpf_map__set_autocreate(rings, false);
	if (!rc)
		rc = bpf_map__set_value_size(rings, bytes);
	return rc ? rc : bpf_map__set_max_entries(rings, ask->ncpus);
}

static int
keep_all(const struct filter_bpf *bpf, uint32_t nbits, struct filter *out)
{
	CLEANUP_FD int map = program_keep(bpf_map__fd(bpf->maps.processes));
	CLEANUP_FD int prog =
		program_keep(bpf_program__fd(bpf->progs.stoker_filter));
	CLEANUP_FD int interps = program_keep(bpf_map__fd(bpf->maps.interps));
	CLEANUP_FD int rings = -1;

	if (map < 0 || prog < 0 || interps < 0)
		return map < 0 ? map : prog < 0 ? prog : interps;
	if (bpf->rodata->stacks) {
		rings = program_keep(bpf_map__fd(bpf->maps.rings));
		if (rings < 0)
			return rings;
	}
	*out = (struct filter){TAKE_FD(map), TAKE_FD(prog), TAKE_FD(interps),
	                       TAKE_FD(rings), nbits};
	return 0;
}

static int
load(const struct filter_ask *ask, uint32_t nbits, uint32_t stacks,
     struct filter *out)
{
	CLEANUP(filter_bpf__destroy_ptr)
	struct filter_bpf *bpf = filter_bpf__open();
	int rc = bpf ? set_sizes(bpf, ask, nbits, stacks) : -errno;

	if (!rc)
		rc = filter_bpf__load(bpf);
	return rc ? rc : keep_all(bpf, nbits, out);
}

int
filter_open(const struct filter_ask *ask, struct filter *out)
{
	uint32_t nbits = program_pids();
	int rc = program_namespace();

	if (!rc && (!ask->ncpus || ask->ncpus > FILTER_MAX_CPUS))
		rc = -EINVAL;
	if (rc)
		return rc;
	libbpf_set_print(NULL);
	rc = load(ask, nbits, interp_ring_stacks(ask->period_ns), out);
	return rc ? load(ask, nbits, 0, out) : 0; /* too large, or too slow */
}
