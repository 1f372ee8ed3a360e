#include "local_files.h"

#include "capture/rename.h"

#include <errno.h>
#include <string.h>

#define CACHE_BYTES ((size_t)512 << 20)
#define KERNEL      "[kernel.kallsyms]"

struct names {
	struct local_files *files;
	bool *wanted; /* by mapping: it has a location without a name */
	uint32_t used;
};

static void
names_done(struct names *n)
{
	free(n->wanted);
}

/* True for a mapping of a file, not of memory. */
static bool
is_file(const struct profile *p, uint32_t mapping)
{
	const char *path = profile_text(p, p->mappings[mapping].file);

	return path[0] == '/' && path[1] != '/';
}

static bool
find_source(void *arg, const struct profile *p, uint32_t mapping,
            struct rename_source *out)
{
	struct names *n = arg;
	const struct mapping *m = &p->mappings[mapping];
	const char *path = profile_text(p, m->file),
		   *id = profile_text(p, m->build_id);
	const struct local_image *image;

	if (!n->wanted[mapping])
		return false;
	*out = (struct rename_source){0};
	if (!strcmp(path, KERNEL)) {
		out->kernel = m->start ? NULL : local_kernel(n->files, id);
		return out->kernel;
	}
	image = local_image(n->files, path, id);
	if (!image || !image->elf || rename_bias(image->elf, m, &out->bias))
		return false;
	out->elf = image->elf;
	out->debug = image->debug;
	n->used += is_file(p, mapping);
	return true;
}

static void
find_wanted(const struct profile *p, struct names *n, struct local_names *found)
{
	rename_wanted(p, n->wanted);
	for (uint32_t i = 0; i < p->nmappings; i++)
		found->mappings += n->wanted[i] && is_file(p, i);
}

int
local_name(struct local_files *f, const struct profile *in,
           struct profile **out, struct local_names *found)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *cache =
		symbols_cache_new(CACHE_BYTES);
	CLEANUP(names_done)
	struct names names = {
		f, calloc(in->nmappings + 1, sizeof(*names.wanted)), 0};
	const struct rename_ask ask = {.host = local_host(f),
	                               .symbols = cache,
	                               .keeps_names = true,
	                               .find = find_source,
	                               .arg = &names};
	struct local_names made = {0};
	struct quality q;
	int rc;

	if (!cache || !names.wanted)
		return -ENOMEM;
	find_wanted(in, &names, &made);
	rc = rename_by(&ask, in, out, &q);
	if (rc)
		return rc;
	made.frames = q.frames;
	made.named = q.symbolized;
	made.used = names.used;
	*found = made;
	return 0;
}
