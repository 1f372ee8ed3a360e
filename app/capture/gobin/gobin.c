/*
 * Opens Go programs: finds their tables, with or without section headers, and
 * the frames and functions in them.
 */
#include "base/hash.h"
#include "gobin_private.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFO_MAGIC \
	"\xff Go buildinf:" /* and two bytes: pointer size, flags \
	                     */
#define INFO_HEAD 32        /* bytes before the version */
/* How far into its segment the build info may be: up to Go 1.25 the function
 * table of a position-independent program comes first. */
#define INFO_REACH   GOBIN_MAX_PCLNTAB
#define MAX_TABLES   64 /* places tried that look like a function table */
#define MAX_POINTERS 16 /* pointers tried that refer to the function table */

static const struct gobin_version versions[] = {
#define GOBIN_VERSION(...) {__VA_ARGS__},
#include "gobin_version.def"
#undef GOBIN_VERSION
};

static const struct gobin_version *
version_of(unsigned minor)
{
	size_t i = ARRAY_LEN(versions) - 1;

	while (i && versions[i].from > minor)
		i--;
	return &versions[i];
}

/* --- the function table --------------------------------------------------- */

static bool
in_table(const struct gobin_pclntab *t, uint64_t at)
{
	return at >= GOBIN_HEADER && at < t->size;
}

/*
 * Checks the header at t->offset and fills in the other members.
 *   Source   runtime/symtab.go, pcHeader; internal/abi, PCLnTabMagic
 */
static int
read_header(const struct elf_image *elf, struct gobin_pclntab *t)
{
	uint8_t head[8];
	uint64_t w[8];

	if (t->size < GOBIN_HEADER || elf_read(elf, t->offset, head, 8) ||
	    elf_read(elf, t->offset + 8, w, sizeof(w)))
		return -EBADMSG;
	memcpy(&t->magic, head, sizeof(t->magic));
	if ((t->magic != GOBIN_MAGIC_18 && t->magic != GOBIN_MAGIC_20) ||
	    head[4] || head[5] || (head[6] != 1 && head[6] != 4) ||
	    head[7] != sizeof(uint64_t))
		return -ENOENT;
	if (!w[0] || w[0] >= t->size / 8 || !in_table(t, w[3]) ||
	    !in_table(t, w[4]) || !in_table(t, w[5]) || !in_table(t, w[6]) ||
	    !in_table(t, w[7]) || (t->size - w[7]) / 8 <= w[0])
		return -EBADMSG;
	t->quantum = head[6];
	t->nfunc = (uint32_t)w[0];
	t->text_start = w[2];
	t->names = w[3];
	t->units = w[4];
	t->files = w[5];
	t->values = w[6];
	t->funcs = w[7];
	return 0;
}

static int
by_section(const struct elf_image *elf, struct gobin_pclntab *t)
{
	static const char *const names[] = {".gopclntab",
	                                    ".data.rel.ro.gopclntab"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct elf_section *s = elf_section(elf, names[i]);

		if (!s)
			continue;
		if (s->size > GOBIN_MAX_PCLNTAB)
			return -E2BIG;
		*t = (struct gobin_pclntab){.offset = s->offset,
		                            .vaddr = s->vaddr,
		                            .size = (size_t)s->size};
		return read_header(elf, t);
	}
	return -ENOENT;
}

struct table_search {
	const struct elf_image *elf;
	struct gobin_pclntab tab;
	unsigned tries;
	int rc;
};

static bool
try_pclntab(void *arg, uint64_t vaddr)
{
	struct table_search *s = arg;
	uint64_t offset, left;

	if (!elf_offset_of(s->elf, vaddr, &offset, &left))
		return true;
	if (left > GOBIN_MAX_PCLNTAB)
		left = GOBIN_MAX_PCLNTAB;
	s->tab = (struct gobin_pclntab){
		.offset = offset, .vaddr = vaddr, .size = (size_t)left};
	s->rc = read_header(s->elf, &s->tab);
	return s->rc && s->tries++ < MAX_TABLES;
}

/* Finds the table by its first eight bytes, except the quantum and the lowest
 * bit of the magic, which vary. */
static int
by_looks(const struct elf_image *elf, struct gobin_pclntab *t)
{
	struct table_search s = {.elf = elf, .rc = -ENOENT};
	uint64_t what = UINT64_C(8) << 56 | GOBIN_MAGIC_18;
	uint64_t mask = ~(UINT64_C(0xff) << 48) & ~UINT64_C(1);
	int rc = gobin_scan(elf, PF_R, what, mask, UINT64_MAX, try_pclntab, &s);

	if (rc || s.rc)
		return rc ? rc : -ENOENT;
	*t = s.tab;
	return 0;
}

/*
 * Finds the table by section or by its looks. Up to Go 1.25 a C linker puts it
 * among other read-only data of a position-independent program. A file that has
 * sections, but none of Go's, is not a Go program, so libraries need not be
 * searched.
 */
static int
find_pclntab(const struct elf_image *elf, struct gobin_pclntab *out)
{
	struct gobin_pclntab t;
	int rc = by_section(elf, &t);

	if (rc == -ENOENT &&
	    (elf->no_headers || elf_section(elf, ".go.buildinfo")))
		rc = by_looks(elf, &t);
	if (!rc)
		*out = t;
	return rc;
}

/* --- the version ---------------------------------------------------------- */

/*
 * Reads the text at offset: its length as a varint, and its bytes.
 *   Source   debug/buildinfo/buildinfo.go, readRawBuildInfo
 */
static bool
read_version(const struct elf_image *elf, uint64_t offset,
             struct gobin_about *out)
{
	uint8_t n;

	if (elf_read(elf, offset, &n, 1) || !n || n >= sizeof(out->version) ||
	    elf_read(elf, offset + 1, out->version, n))
		return false;
	out->version[n] = 0;
	return true;
}

struct info {
	const struct elf_image *elf;
	struct gobin_about *out;
};

static bool
try_info(void *arg, uint64_t vaddr)
{
	const struct info *i = arg;
	uint8_t head[INFO_HEAD];
	uint64_t offset, left;

	if (!elf_offset_of(i->elf, vaddr, &offset, &left) ||
	    elf_read(i->elf, offset, head, sizeof(head)) ||
	    memcmp(head, INFO_MAGIC, strlen(INFO_MAGIC)) != 0)
		return true;
	/* Since Go 1.18 the version follows; earlier, pointers to it. */
	return !(head[15] & 2) ||
	       !read_version(i->elf, offset + INFO_HEAD, i->out);
}

static void
set_minor(struct gobin_about *a)
{
	const char *at = strstr(a->version, "go1.");
	unsigned minor;

	if (at && sscanf(at, "go1.%3u", &minor) == 1 && minor >= GOBIN_MIN_GO)
		a->minor = minor;
	else
		a->version[0] = '\0';
}

static void
find_version(const struct elf_image *elf, struct gobin_about *out)
{
	const struct elf_section *s = elf_section(elf, ".go.buildinfo");
	struct info i = {elf, out};
	uint64_t first;

	memcpy(&first, INFO_MAGIC, sizeof(first));
	if ((!s || try_info(&i, s->vaddr)) &&
	    gobin_scan(elf, PF_R, first, UINT64_MAX, INFO_REACH, try_info, &i))
		return;
	set_minor(out);
}
/* --- runtime.moduledata --------------------------------------------------- */

/* Words of moduledata that are at the same place in all versions. */
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
 * Guesses the version of a program that does not state it, from the layout.
 * The layout is then right; the ids of special functions may be wrong.
 */
static unsigned
guess_minor(const struct gobin *g, const uint64_t *w)
{
	if (g->tab.magic == GOBIN_MAGIC_18)
		return 19;
	if (!in_image(g->elf, w[version_of(GOBIN_MAX_GO - 1)->gofunc], 0))
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
	g->version = version_of(a->minor);
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

struct module_search {
	struct gobin *g;
	unsigned tries;
	int rc;
};

static bool
try_moduledata(void *arg, uint64_t vaddr)
{
	struct module_search *s = arg;
	uint64_t w[MD_WORDS];

	if (gobin_words(s->g->elf, vaddr, w, MD_WORDS) ||
	    !is_moduledata(s->g, w))
		return s->tries++ < MAX_POINTERS;
	take_words(s->g, vaddr, w);
	s->rc = 0;
	return false;
}

static int
find_moduledata(struct gobin *g)
{
	const struct elf_section *own = elf_section(g->elf, ".go.module");
	struct module_search s = {.g = g, .rc = -ENOENT};
	int rc = 0;

	if (own)
		try_moduledata(&s, own->vaddr);
	if (s.rc)
		rc = gobin_pointers(g->elf, g->tab.vaddr, try_moduledata, &s);
	if (!rc && s.rc)
		rc = gobin_scan(g->elf, PF_W, g->tab.vaddr, UINT64_MAX,
		                UINT64_MAX, try_moduledata, &s);
	return rc ? rc : s.rc;
}
/* --- opening and closing -------------------------------------------------- */

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
	int rc = find_pclntab(elf, &tab);

	if (rc)
		return rc;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->elf = elf;
	g->tab = tab;
	g->about.pclntab = tab.vaddr;
	g->about.machine = elf->machine;
	find_version(elf, &g->about);
	rc = find_moduledata(g);
	if (rc)
		return rc == -ENOENT ? -EBADMSG : rc;
	g->bytes = malloc(tab.size); /* pages are touched when read */
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

/* --- frames --------------------------------------------------------------- */

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
/* --- functions by name, which survive stripping --------------------------- */

struct named {
	struct gobin *g;
	const char *const *names;
	size_t n;
	struct gobin_range *out;
};

static const char *
name_at(struct gobin *g, uint32_t func)
{
	const uint8_t *p = gobin_bytes(g, g->tab.funcs + (size_t)func,
	                               FUNC_NAME + sizeof(uint32_t));
	uint32_t at;

	if (!p)
		return NULL;
	memcpy(&at, p + FUNC_NAME, sizeof(at));
	return gobin_text(g, g->tab.names + (size_t)at);
}

static void
note(const struct named *d, const char *name, uint32_t start, uint32_t end)
{
	uint64_t text = d->g->about.text;

	for (size_t i = 0; i < d->n; i++)
		if (!d->out[i].end && !strcmp(d->names[i], name))
			d->out[i] =
				(struct gobin_range){text + start, text + end};
}

void
gobin_named(struct gobin *g, const char *const *names, size_t n,
            struct gobin_range *out)
{
	struct named d = {g, names, n, out};
	uint32_t row[2], next[2];

	memset(out, 0, n * sizeof(*out));
	if (!gobin_ftab_row(g, 0, row))
		return;
	for (size_t i = 0; i < g->tab.nfunc; i++) {
		const char *name = name_at(g, row[1]);

		if (!gobin_ftab_row(g, i + 1, next))
			return;
		if (name && row[0] < next[0])
			note(&d, name, row[0], next[0]);
		row[0] = next[0];
		row[1] = next[1];
	}
}
