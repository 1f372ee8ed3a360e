/* runtime.moduledata: what the linker told the runtime of the program. */
#include "gobin_private.h"

#include <elf.h>
#include <errno.h>

#define MAX_TRIES 16 /* pointers to the function table */

/* Words of moduledata that no version moved. */
enum {
	MD_HEADER = 0,
	MD_NAMES = 1,
	MD_MINPC = 20,
	MD_MAXPC = 21,
	MD_TEXT = 22,
	MD_RANGES = 24, /* pairs: noptrdata, data, bss, noptrbss */
	MD_WORDS = 44,
};

static bool
in_image(const struct elf_image *elf, uint64_t vaddr, uint32_t flags)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++)
		if (vaddr - s->vaddr < s->memsz && (s->flags & flags) == flags)
			return true;
	return false;
}

static bool
is_moduledata(const struct gobin *g, const uint64_t *w)
{
	return w[MD_HEADER] == g->tab.vaddr &&
	       w[MD_NAMES] == g->tab.vaddr + g->tab.names &&
	       w[MD_TEXT] < w[MD_TEXT + 1] && w[MD_MINPC] >= w[MD_TEXT] &&
	       w[MD_MINPC] < w[MD_MAXPC] && in_image(g->elf, w[MD_TEXT], PF_X);
}

/*
 * A program that does not tell its version: what can be seen of it. Layouts
 * fit then; the numbers of special functions may be off.
 */
static unsigned
guess_minor(const struct gobin *g, const uint64_t *w)
{
	if (g->tab.magic == GOBIN_MAGIC_18)
		return 19;
	if (!in_image(g->elf, w[gobin_version_of(GOBIN_MAX_GO - 1)->gofunc], 0))
		return GOBIN_MAX_GO;
	return g->tab.text_start ? 24 : GOBIN_MAX_GO - 1;
}

static void
take_words(struct gobin *g, uint64_t at, const uint64_t *w)
{
	struct gobin_about *a = &g->about;
	uint64_t *const pairs[] = {&a->noptrdata, &a->data, &a->bss,
	                           &a->noptrbss};
	uint64_t *const ends[] = {&a->enoptrdata, &a->edata, &a->ebss,
	                          &a->enoptrbss};

	if (!a->minor)
		a->minor = guess_minor(g, w);
	g->version = gobin_version_of(a->minor);
	a->moduledata = at;
	a->text = w[MD_TEXT];
	a->etext = w[MD_TEXT + 1];
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		*pairs[i] = w[MD_RANGES + 2 * i];
		*ends[i] = w[MD_RANGES + 2 * i + 1];
	}
	a->types = w[g->version->types];
	a->etypes = w[g->version->etypes];
	if (in_image(g->elf, w[g->version->gofunc], 0))
		a->gofunc = w[g->version->gofunc];
}

struct search {
	struct gobin *g;
	unsigned tries;
	int rc;
};

static bool
try_at(void *arg, uint64_t vaddr)
{
	struct search *s = arg;
	uint64_t w[MD_WORDS];

	if (gobin_words(s->g->elf, vaddr, w, MD_WORDS) ||
	    !is_moduledata(s->g, w))
		return s->tries++ < MAX_TRIES;
	take_words(s->g, vaddr, w);
	s->rc = 0;
	return false;
}

int
gobin_find_moduledata(struct gobin *g)
{
	const struct elf_section *own = elf_section(g->elf, ".go.module");
	struct search s = {.g = g, .rc = -ENOENT};
	int rc = 0;

	if (own)
		try_at(&s, own->vaddr);
	if (s.rc)
		rc = gobin_pointers(g->elf, g->tab.vaddr, try_at, &s);
	if (!rc && s.rc)
		rc = gobin_scan(g->elf, PF_W, g->tab.vaddr, UINT64_MAX,
		                UINT64_MAX, try_at, &s);
	return rc ? rc : s.rc;
}
