/*
 * Prints goroutines for scripts, one per line and sorted by number:
 *
 *	NUMBER [STATE] FUNCTION FILE:LINE < FUNCTION FILE:LINE ... | CREATOR
 *
 * leaf first, without the runtime's functions, as tracebacks hide them.
 *
 *	goroutines FILE		a profile, or a dump as text (debug=2)
 */
#include "base/file.h"
#include "profile/godump.h"
#include "profile/goroutine.h"
#include "profile/pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)512 << 20)

struct row {
	unsigned long goid;
	uint32_t sample;
};

static const struct label *
label(const struct profile *p, uint32_t sample, enum goroutine_label key)
{
	const struct sample *s = &p->samples[sample];

	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!strcmp(profile_text(p, p->labels[s->label0 + i].key),
		            goroutine_keys[key]))
			return &p->labels[s->label0 + i];
	return NULL;
}

static const char *
word(const struct profile *p, uint32_t sample, enum goroutine_label key)
{
	const struct label *l = label(p, sample, key);

	return l ? profile_text(p, l->str) : "-";
}

static void
add_row(struct buf *rows, unsigned long goid, uint32_t sample)
{
	struct row row = {goid, sample};

	buf_add(rows, &row, sizeof(row));
}

/* "7,9-12" */
static void
add_list(struct buf *rows, const char *list, uint32_t sample)
{
	char *end;

	for (; *list >= '0' && *list <= '9';
	     list = *end == ',' ? end + 1 : end) {
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last; first++)
			add_row(rows, first, sample);
	}
}

static void
list_rows(const struct profile *p, struct buf *rows)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct label *one = label(p, i, GOROUTINE_GOID);

		if (one)
			add_row(rows, (unsigned long)one->num, i);
		else
			add_list(rows, word(p, i, GOROUTINE_GOIDS), i);
	}
}

static void
print_stack(const struct profile *p, const struct sample *s)
{
	const char *between = "";

	for (uint32_t i = 0; i < s->nstack; i++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + i]];

		for (uint32_t k = 0; k < at->nlines; k++) {
			const struct line *l = &p->lines[at->line0 + k];
			const struct function *f = &p->functions[l->function];

			if (!strncmp(profile_text(p, f->name), "runtime.", 8))
				continue;
			printf("%s %s %s:%ld", between,
			       profile_text(p, f->name),
			       profile_text(p, f->file), (long)l->line);
			between = " <";
		}
	}
}

static int
by_goid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->goid > y->goid) - (x->goid < y->goid);
}

static void
print_rows(const struct profile *p)
{
	CLEANUP_BUF struct buf rows = BUF_INIT(MAX_BYTES);
	struct row *row;
	size_t n;

	list_rows(p, &rows);
	row = (void *)rows.p;
	n = rows.len / sizeof(*row);
	qsort(row, n, sizeof(*row), by_goid);
	for (size_t i = 0; i < n; i++) {
		uint32_t s = row[i].sample;

		printf("%lu [%s]", row[i].goid, word(p, s, GOROUTINE_RAW));
		print_stack(p, &p->samples[s]);
		printf(" | %s %s\n", word(p, s, GOROUTINE_CREATOR),
		       word(p, s, GOROUTINE_CREATED));
	}
}

static int
print_file(const char *path, struct buf *why)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct godump_seen seen;
	int rc = file_read(AT_FDCWD, path, &bytes);

	if (rc)
		return rc;
	if (godump_looks_like(bytes.p, bytes.len))
		rc = godump_parse(bytes.p, bytes.len, &p, &seen, why);
	else
		rc = pprof_decode(bytes.p, bytes.len, MAX_BYTES, &p, why);
	if (!rc)
		print_rows(p);
	return rc;
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = argc == 2 ? print_file(argv[1], &why) : -EINVAL;

	if (rc)
		fprintf(stderr, "goroutines: %s: %s\n", strerror(-rc),
		        buf_str(&why));
	return rc ? 1 : 0;
}
