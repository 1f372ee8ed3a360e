#include "capture/kallsyms.h"

#include "symbols_text.h"

#include <errno.h>
#include <string.h>

#define KERNEL_HALF (UINT64_C(1) << 63)

struct row {
	uint64_t start;
	char *name;
	const char *module;
	char type;
};

struct kallsyms {
	struct row *rows; /* ascending, one per start */
	size_t n, cap;
	struct buf text; /* names point into it */
};

/* Splits "f [ext4]" (a tab between) and keeps the brackets. */
static const char *
cut_module(char *name)
{
	char *p = name + strcspn(name, " \t\r");
	char *module = p + strspn(p, " \t\r");

	*p = '\0';
	if (p == module || *module != '[')
		return "[kernel]";
	module[strcspn(module, " \t\r")] = '\0';
	return module;
}

static bool
parse_line(char *line, struct row *out)
{
	char *p = line;

	if (!text_hex(&p, &out->start) || !p[0] || p[1] != ' ')
		return false;
	out->type = p[0];
	out->name = p + 2;
	if (!strchr("tTwW", out->type))
		return false;
	out->module = cut_module(out->name);
	return out->name[0] != '\0';
}

static int
push(struct kallsyms *k, const struct row *row)
{
	struct row *more;
	size_t cap;

	if (k->n == KALLSYMS_MAX_ROWS)
		return -E2BIG;
	if (k->n == k->cap) {
		cap = k->cap ? k->cap * 2 : 4096;
		more = reallocarray(k->rows, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->rows = more;
		k->cap = cap;
	}
	k->rows[k->n++] = *row;
	return 0;
}

/* Global before local before weak, then as in the file. */
static int
by_start(const void *a, const void *b)
{
	static const char order[] = "TtWw";
	const struct row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->type != y->type)
		return strchr(order, x->type) < strchr(order, y->type) ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void
keep_first(struct kallsyms *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (!n || k->rows[n - 1].start != k->rows[i].start)
			k->rows[n++] = k->rows[i];
	k->n = n;
}

static int
parse(struct kallsyms *k, char *text, size_t len)
{
	char *rest = text, *line;
	bool zeros = false;
	struct row row;
	int r;

	while ((line = text_line(&rest, text + len))) {
		if (!parse_line(line, &row))
			continue;
		if (!row.start) {
			zeros = true;
			continue;
		}
		r = push(k, &row);
		if (r)
			return r;
	}
	if (!k->n)
		return zeros ? -EACCES : -ENODATA;
	return 0;
}

int
kallsyms_new(struct buf *text, struct kallsyms **out)
{
	CLEANUP_KALLSYMS struct kallsyms *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	r = text->len ? parse(k, text->p, text->len) : -ENODATA;
	if (r)
		return r;
	qsort(k->rows, k->n, sizeof(*k->rows), by_start);
	keep_first(k);
	k->text = *text;
	*text = (struct buf){.max = text->max};
	*out = TAKE(k);
	return 0;
}

void
kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->rows);
	buf_done(&k->text);
	free(k);
}

bool
kallsyms_lookup(const struct kallsyms *k, uint64_t addr, struct kallsym *out)
{
	size_t lo = 0, hi = k->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (k->rows[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr < KERNEL_HALF)
		return false;
	*out = (struct kallsym){k->rows[lo - 1].name, k->rows[lo - 1].module,
	                        k->rows[lo - 1].start};
	return true;
}
