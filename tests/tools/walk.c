/*
 * Walks stacks that a program recorded of itself, for scripts, on this machine
 * or one of another architecture.
 *
 * 	walk DIR
 *
 * DIR/maps is a copy of /proc/PID/maps. DIR/samples has, for each sample, the
 * registers in the order of asm/perf_regs.h (33 words), the length of the
 * stack, and the stack. Prints a line per sample: how its walk ended, and the
 * functions, innermost first:
 *
 * 	root call_leaf call_large main
 *
 * and first "signed N", the number of words in all stacks that are signed code
 * addresses.
 */
#include "capture/symbols/symbols.h"
#include "capture/unwind/unwind.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_MAPS   64
#define MAX_FRAMES 128
#define MAX_STACK  (256 << 10)
#define ADDRESS    ((UINT64_C(1) << 48) - 1)

struct sample {
	uint64_t regs[UNWIND_REGS];
	uint64_t len;
};

struct map {
	struct unwind_mapping m;
	struct elf_image *elf;
};

struct recording {
	struct map maps[MAX_MAPS];
	uint32_t nmaps;
	struct symbolizer *symbols;
	uint16_t machine;
};

static struct map *
map_of(struct recording *r, uint64_t addr)
{
	for (uint32_t i = 0; i < r->nmaps; i++)
		if (addr >= r->maps[i].m.start && addr < r->maps[i].m.end)
			return &r->maps[i];
	return NULL;
}

static bool
find(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	const struct map *m = map_of(arg, addr);

	if (m)
		*out = m->m;
	return m != NULL;
}

/* --- what is mapped ------------------------------------------------------- */

static void
open_map(struct recording *r, struct map *m, const char *path, uint64_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_open_fd(fd, &m->elf)) {
		close(fd);
		return;
	}
	r->machine = m->elf->machine;
	if (elf_bias(m->elf, m->m.start, offset, PF_X, &m->m.bias) ||
	    unwind_table_new(m->elf, &m->m.table) ||
	    symbolizer_add(r->symbols, (uint32_t)(m - r->maps), m->elf, NULL))
		errx(1, "%s: no tables", path);
}

static void
read_maps(struct recording *r)
{
	char line[4096], path[4096], prot[8];
	uint64_t start, end, offset;
	FILE *f = fopen("maps", "re");

	while (f && fgets(line, sizeof(line), f) && r->nmaps < MAX_MAPS) {
		path[0] = '\0';
		if (sscanf(line,
		           "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64
		           " %*s %*s %4095s",
		           &start, &end, prot, &offset, path) < 4 ||
		    prot[2] != 'x')
			continue;
		r->maps[r->nmaps].m =
			(struct unwind_mapping){.start = start, .end = end};
		open_map(r, &r->maps[r->nmaps++], path, offset);
	}
	if (!r->nmaps || fclose(f))
		errx(1, "no maps");
}

/* --- samples -------------------------------------------------------------- */

static void
print_frame(struct recording *r, uint64_t addr)
{
	const struct map *m = map_of(r, addr);
	struct sym_frame frames[8];
	size_t n = 0;

	if (m && m->elf)
		n = symbolizer_lookup(r->symbols, (uint32_t)(m - r->maps),
		                      addr - m->m.bias, frames, 8);
	for (size_t i = 0; i < n; i++)
		printf(" %s", frames[i].name);
	if (!n)
		printf(" ?");
}

static void
print_walk(struct recording *r, struct unwinder *u, const struct sample *s,
           const void *stack)
{
	static const char *const ends[] = {
		[UNWIND_ROOT] = "root",       [UNWIND_TRUNCATED] = "truncated",
		[UNWIND_NO_INFO] = "no_info", [UNWIND_BAD] = "bad",
		[UNWIND_SWITCHED] = "switch", [UNWIND_MAX] = "max",
	};
	uint64_t pcs[MAX_FRAMES];
	size_t n;

	printf("%s",
	       ends[unwind(u, s->regs, stack, s->len, pcs, MAX_FRAMES, &n)]);
	for (size_t i = 0; i < n; i++)
		print_frame(r, pcs[i] - (i > 0));
	printf("\n");
}

static bool
read_sample(FILE *f, struct sample *s, uint64_t stack[MAX_STACK / 8])
{
	if (fread(s, sizeof(*s), 1, f) != 1)
		return false;
	if (s->len > MAX_STACK || fread(stack, 1, s->len, f) != s->len)
		errx(1, "samples end early");
	return true;
}

static unsigned
count_signed(struct recording *r, const uint64_t *words, size_t n)
{
	unsigned found = 0;

	for (size_t i = 0; i < n; i++)
		found += words[i] > ADDRESS && map_of(r, words[i] & ADDRESS);
	return found;
}

int
main(int argc, char **argv)
{
	static uint64_t stack[MAX_STACK / 8];
	static struct recording r;
	struct symbols_cache *cache = symbols_cache_new(0);
	struct unwinder *u;
	struct sample s;
	unsigned found = 0;
	FILE *f;

	r.symbols = symbolizer_new(cache);
	if (argc != 2 || chdir(argv[1]) || !r.symbols)
		errx(1, "usage: walk DIR");
	read_maps(&r);
	u = unwinder_new_for(r.machine, find, &r);
	f = fopen("samples", "re");
	if (!u || !f)
		err(1, "samples");
	while (read_sample(f, &s, stack))
		found += count_signed(&r, stack, s.len / 8);
	printf("signed %u\n", found);
	rewind(f);
	while (read_sample(f, &s, stack))
		print_walk(&r, u, &s, stack);
	return ferror(f) || ferror(stdout);
}
