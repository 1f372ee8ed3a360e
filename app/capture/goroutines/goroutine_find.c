#include "goroutine_find.h"

#include <errno.h>
#include <string.h>

#define WINDOW         ((size_t)1 << 20) /* bytes of variables read at once */
#define MAX_VARIABLES  ((uint64_t)1 << 30)
#define MAX_CANDIDATES 4096 /* in one window */
#define LOWEST         4096 /* least valid address */
#define OVERLAP        (GO_MAX_REASONS * sizeof(struct string))

struct slice {
	uint64_t p, len, cap;
};

struct string {
	uint64_t p, len;
};

struct candidate {
	uint64_t addr; /* address of the slice */
	struct slice s;
	uint64_t ends[2]; /* its first and last element */
};

/*
 * Calls show for windows that cover [start, end), until it returns nonzero.
 * Each overlaps the next, so that nothing is cut. Memory that can't be read is
 * skipped.
 */
typedef int
look(struct go_runtime *r, uint64_t addr, const uint8_t *p, size_t n);
static int
scan(struct go_runtime *r, uint64_t start, uint64_t end, look *show)
{
	int rc = 0;

	if (end < start || end - start > MAX_VARIABLES)
		return 0;
	for (uint64_t at = start; at < end && !rc; at += WINDOW) {
		CLEANUP(memory_batch_done)
		struct memory_batch b = {.n = 0};
		uint64_t left = end - at;
		struct memory_piece p = {
			.addr = at + r->bias,
			.len = left < WINDOW ? (uint32_t)left
		                             : WINDOW + OVERLAP,
		};

		rc = memory_read(r->mem, &p, 1, &b);
		if (!rc && p.got >= sizeof(struct slice))
			rc = show(r, p.addr, p.p, p.got);
	}
	return rc;
}

/* --- the list of goroutines ----------------------------------------------- */

static bool
may_be_list(const struct slice *s)
{
	return s->p >= LOWEST && s->p % 8 == 0 && s->len && s->len <= s->cap &&
	       s->cap <= GO_MAX_GOROUTINES;
}

static size_t
collect(uint64_t addr, const uint8_t *p, size_t n, struct candidate *out)
{
	size_t count = 0;

	for (size_t at = 0; at + sizeof(struct slice) <= n; at += 8) {
		struct candidate c = {.addr = addr + at};

		memcpy(&c.s, p + at, sizeof(c.s));
		if (may_be_list(&c.s) && count < MAX_CANDIDATES)
			out[count++] = c;
	}
	return count;
}

/* Reads the first and last element of each candidate, or the structs that they
 * point to. */
static int
read_ends(const struct go_runtime *r, const struct candidate *c, size_t n,
          bool structs, struct memory_piece *pieces, struct memory_batch *b)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t last = c[i].s.p + 8 * (c[i].s.len - 1);

		for (int k = 0; k < 2; k++)
			pieces[2 * i + (size_t)k] = (struct memory_piece){
				.addr = structs ? c[i].ends[k]
			                : k     ? last
			                        : c[i].s.p,
				.len = structs ? GO_MAX_G : 8,
			};
	}
	return memory_read(r->mem, pieces, 2 * n, b);
}

/* Drops candidates whose ends are not addresses. Returns how many are left. */
static size_t
keep_lists(struct candidate *c, size_t n, const struct memory_piece *pieces)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool good = true;

		for (size_t k = 0; k < 2; k++) {
			const struct memory_piece *p = &pieces[2 * i + k];

			c[i].ends[k] = p->got == 8 ? memory_u64(p->p, 0) : 0;
			good &= c[i].ends[k] >= LOWEST && c[i].ends[k] % 8 == 0;
		}
		if (good)
			c[kept++] = c[i];
	}
	return kept;
}

static bool
begins_function(const struct go_runtime *r, uint64_t addr,
                struct gobin_frame *out)
{
	return gobin_frame(r->bin, addr - r->bias, out) &&
	       out->entry == addr - r->bias;
}

/*
 * True when runtime.main begins at addr. The name decides, since the number of
 * the function depends on the version; the number decides if names were
 * removed.
 */
static bool
is_main(void *arg, uint64_t addr)
{
	const struct go_runtime *r = arg;
	struct gobin_frame f;
	struct gobin_line line;

	if (!begins_function(r, addr, &f) ||
	    !gobin_lines(r->bin, addr - r->bias, &line, 1))
		return false;
	if (!strncmp(line.name, "runtime.", strlen("runtime.")))
		return !strcmp(line.name, "runtime.main");
	return f.func == GOBIN_RUNTIME_MAIN;
}

static bool
fits(const struct go_layout *l, const struct memory_piece *p)
{
	return p->got >= l->size && go_layout_fits(l, p->p, p->addr);
}

/* True when a struct fits a layout that was chosen by version alone. */
static bool
fits_well(const struct go_runtime *r, const struct go_layout *l,
          const struct memory_piece *p)
{
	struct gobin_frame f;
	struct go_g g;

	return fits(l, p) && go_g_read(l, p->p, p->addr, &g) &&
	       (!g.startpc || begins_function(r, g.startpc, &f));
}

/*
 * True when a list begins with goroutine 1 and ends with a goroutine. After
 * main has called runtime.Goexit, another goroutine may use its struct: then
 * the layout of the version, if it is known, must fit.
 */
static bool
is_list(struct go_runtime *r, const struct memory_piece ends[2],
        struct go_layout *out)
{
	struct go_layout l;

	if (ends[0].got == GO_MAX_G &&
	    go_layout_calibrate(ends[0].p, ends[0].addr, r->minor, is_main, r,
	                        &l) &&
	    fits(&l, &ends[1])) {
		*out = l;
		return true;
	}
	if (ends[0].addr == ends[1].addr || !*gobin_about(r->bin)->version ||
	    !go_layout_of(r->minor, &l) || !fits_well(r, &l, &ends[0]) ||
	    !fits_well(r, &l, &ends[1]))
		return false;
	*out = l;
	return true;
}

/* Keeps a list in a window if it is longer than those before. */
static int
look_for_list(struct go_runtime *r, uint64_t addr, const uint8_t *p, size_t n)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	CLEANUP_FREE struct candidate *c = calloc(MAX_CANDIDATES, sizeof(*c));
	CLEANUP_FREE struct memory_piece *pieces =
		calloc((size_t)2 * MAX_CANDIDATES, sizeof(*pieces));
	size_t count;
	int rc;

	if (!c || !pieces)
		return -ENOMEM;
	count = collect(addr, p, n, c);
	rc = read_ends(r, c, count, false, pieces, &b);
	if (rc)
		return rc;
	count = keep_lists(c, count, pieces);
	memory_batch_done(&b);
	rc = read_ends(r, c, count, true, pieces, &b);
	for (size_t i = 0; i < count && !rc; i++) {
		if (c[i].s.len <= r->entries ||
		    !is_list(r, &pieces[2 * i], &r->layout))
			continue;
		r->allgs = c[i].addr;
		r->list = c[i].s.p;
		r->entries = c[i].s.len;
	}
	return rc;
}

int
go_runtime_list(struct go_runtime *r)
{
	struct slice s;
	int rc = memory_copy(r->mem, r->allgs, &s, sizeof(s));

	if (rc)
		return rc == -EFAULT ? -EPROTO : rc;
	if (!may_be_list(&s))
		return -EPROTO;
	r->list = s.p;
	r->entries = s.len;
	return 0;
}

/* --- wait reasons --------------------------------------------------------- */

static const char first_reason[] = "GC assist marking";
static const char second_reason[] = "IO wait";

/* True when three strings here may be the first of
 * runtime.waitReasonStrings. */
static bool
may_be_reasons(const uint8_t *p)
{
	struct string s[3];

	memcpy(s, p, sizeof(s));
	return s[0].len == 0 && s[1].len == sizeof(first_reason) - 1 &&
	       s[2].len == sizeof(second_reason) - 1 && s[1].p >= LOWEST &&
	       s[2].p >= LOWEST;
}

static void
take_reason(char out[GO_MAX_REASON + 1], const struct memory_piece *p)
{
	if (p->got != p->len || p->len > GO_MAX_REASON)
		return;
	for (uint32_t i = 0; i < p->len; i++)
		if (p->p[i] < ' ' || p->p[i] > '~')
			return;
	if (p->len)
		memcpy(out, p->p, p->len);
	out[p->len] = '\0';
}

/* Reads the strings from p on; those after the array's end are never used. True
 * when p is the array. */
static bool
read_reasons(struct go_runtime *r, const uint8_t *p, size_t n)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	struct memory_piece pieces[GO_MAX_REASONS];
	size_t count = n / sizeof(struct string);

	if (count > GO_MAX_REASONS)
		count = GO_MAX_REASONS;
	for (size_t i = 0; i < count; i++) {
		struct string s;

		memcpy(&s, p + i * sizeof(s), sizeof(s));
		pieces[i] = (struct memory_piece){
			.addr = s.p,
			.len = s.len <= GO_MAX_REASON ? (uint32_t)s.len : 0,
		};
	}
	memset(r->reasons, 0, sizeof(r->reasons));
	if (memory_read(r->mem, pieces, count, &b))
		return false;
	for (size_t i = 0; i < count; i++)
		take_reason(r->reasons[i], &pieces[i]);
	return !strcmp(r->reasons[1], first_reason) &&
	       !strcmp(r->reasons[2], second_reason);
}

static int
look_for_reasons(struct go_runtime *r, uint64_t addr, const uint8_t *p,
                 size_t n)
{
	(void)addr;
	for (size_t at = 0; at < WINDOW && at + 3 * sizeof(struct string) <= n;
	     at += 8)
		if (may_be_reasons(p + at) && read_reasons(r, p + at, n - at))
			return 1;
	return 0;
}

static int
find_reasons(struct go_runtime *r)
{
	const struct gobin_about *a = gobin_about(r->bin);
	int rc = scan(r, a->noptrdata, a->enoptrdata, look_for_reasons);

	if (!rc)
		rc = scan(r, a->data, a->edata, look_for_reasons);
	return rc < 0 ? rc : rc ? 0 : -EPROTO;
}

int
go_runtime_find(struct go_runtime *r)
{
	const struct gobin_about *a = gobin_about(r->bin);
	int rc;

	r->minor = a->minor;
	r->entries = 0;
	rc = scan(r, a->bss, a->ebss, look_for_list);
	if (!rc && !r->entries)
		rc = -EPROTO;
	return rc ? rc : find_reasons(r);
}
