#include "base/hash.h"
#include "gobin_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct gobin_version versions[] = {
#define GOBIN_VERSION(...) {__VA_ARGS__},
#include "gobin_version.def"
#undef GOBIN_VERSION
};

const struct gobin_version *
gobin_version_of(unsigned minor)
{
	size_t i = ARRAY_LEN(versions) - 1;

	while (i && versions[i].from > minor)
		i--;
	return &versions[i];
}

/* --- life ------------------------------------------------------------------
 */

void
gobin_free(struct gobin *g)
{
	if (!g)
		return;
	free(g->bytes);
	free(g->loaded);
	free(g);
}

int
gobin_open(const struct elf_image *elf, struct gobin **out)
{
	struct gobin_pclntab tab;
	CLEANUP_GOBIN struct gobin *g = NULL;
	int rc = gobin_find_pclntab(elf, &tab);

	if (rc)
		return rc;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->elf = elf;
	g->tab = tab;
	g->about.pclntab = tab.vaddr;
	g->about.machine = elf->machine;
	gobin_find_version(elf, &g->about);
	rc = gobin_find_moduledata(g);
	if (rc)
		return rc == -ENOENT ? -EBADMSG : rc;
	g->bytes = malloc(tab.size); /* touched where it is read */
	g->loaded = calloc(tab.size / GOBIN_BLOCK + 1, 1);
	if (!g->bytes || !g->loaded)
		return -ENOMEM;
	*out = TAKE(g);
	return 0;
}

const struct gobin_about *
gobin_about(const struct gobin *g)
{
	return &g->about;
}

/* --- frames ----------------------------------------------------------------
 */

static bool
find_frame(struct gobin *g, uint64_t vaddr, struct gobin_frame *out)
{
	const uint8_t size = g->version->func_size;
	struct gobin_function f;
	int32_t delta;

	if (!gobin_function(g, vaddr, &f))
		return false;
	delta = gobin_value(g, &f, gobin_field(&f, FUNC_PCSP), vaddr);
	out->entry = f.entry;
	out->func = (uint8_t)gobin_func_of(g, f.row[size - FUNC_ID_BACK]);
	out->flags = f.row[size - FUNC_FLAG_BACK];
	out->sp_delta = delta;
	return delta >= 0 && delta % (int32_t)sizeof(uint64_t) == 0;
}

bool
gobin_frame(struct gobin *g, uint64_t vaddr, struct gobin_frame *out)
{
	struct gobin_known *k = &g->cache[hash_u64(vaddr) % GOBIN_CACHE];

	if (!k->asked || k->vaddr != vaddr) {
		k->asked = true;
		k->vaddr = vaddr;
		k->found = find_frame(g, vaddr, &k->frame);
	}
	if (k->found)
		*out = k->frame;
	return k->found;
}
