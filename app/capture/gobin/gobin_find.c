/* Where a Go program keeps its tables, with or without section headers. */
#include "gobin_private.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define INFO_MAGIC                                                \
	"\xff Go buildinf:" /* and two bytes: pointer size, flags \
	                     */
#define INFO_HEAD 32        /* bytes before the version */
/* Bytes into its segment: up to 1.25 the function table of a
 * position-independent program comes first. */
#define INFO_REACH GOBIN_MAX_PCLNTAB
#define MAX_TRIES  64 /* places that look like it */

/* --- the function table ----------------------------------------------------
 */

static bool
in_table(const struct gobin_pclntab *t, uint64_t at)
{
	return at >= GOBIN_HEADER && at < t->size;
}

/*
 * Checks the header at t->offset and fills in the rest.
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

struct search {
	const struct elf_image *elf;
	struct gobin_pclntab tab;
	unsigned tries;
	int rc;
};

static bool
try_pclntab(void *arg, uint64_t vaddr)
{
	struct search *s = arg;
	uint64_t offset, left;

	if (!elf_offset_of(s->elf, vaddr, &offset, &left))
		return true;
	if (left > GOBIN_MAX_PCLNTAB)
		left = GOBIN_MAX_PCLNTAB;
	s->tab = (struct gobin_pclntab){
		.offset = offset, .vaddr = vaddr, .size = (size_t)left};
	s->rc = read_header(s->elf, &s->tab);
	return s->rc && s->tries++ < MAX_TRIES;
}

/* By its first eight bytes but for the magic's last and the quantum. */
static int
by_looks(const struct elf_image *elf, struct gobin_pclntab *t)
{
	struct search s = {.elf = elf, .rc = -ENOENT};
	uint64_t what = UINT64_C(8) << 56 | GOBIN_MAGIC_18;
	uint64_t mask = ~(UINT64_C(0xff) << 48) & ~UINT64_C(1);
	int rc = gobin_scan(elf, PF_R, what, mask, UINT64_MAX, try_pclntab, &s);

	if (rc || s.rc)
		return rc ? rc : -ENOENT;
	*t = s.tab;
	return 0;
}

/*
 * Up to Go 1.25 a C linker puts it among other read-only data where a program
 * is position-independent. What has sections but none of Go's is no Go
 * program: libraries by the dozen are not read through.
 */
int
gobin_find_pclntab(const struct elf_image *elf, struct gobin_pclntab *out)
{
	struct gobin_pclntab t;
	int rc = by_section(elf, &t);

	if (rc == -ENOENT &&
	    (!elf->nsections || elf_section(elf, ".go.buildinfo")))
		rc = by_looks(elf, &t);
	if (!rc)
		*out = t;
	return rc;
}

/* --- the version -----------------------------------------------------------
 */

/*
 * The text at offset: its length, seven bits a byte, and its bytes.
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
	/* since 1.18 the version follows, before that pointers to it */
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

void
gobin_find_version(const struct elf_image *elf, struct gobin_about *out)
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
