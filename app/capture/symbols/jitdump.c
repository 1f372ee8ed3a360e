#include "jitdump.h"

#include "base/rows.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x4a695444u

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

struct file_head {
	uint32_t magic, version, size, machine, unused, pid;
	uint64_t time, flags;
};

struct record_head {
	uint32_t id, size;
	uint64_t time;
};

struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct row {
	uint64_t start, end;
	uint64_t moved; /* how far its code has moved since its lines were
	                   recorded */
	uint32_t order; /* order of its record */
	uint32_t name;  /* offset of text */
	uint32_t first, nlines;
};

struct line {
	uint64_t addr;
	uint32_t line, file; /* offset of text */
};

struct jitdump {
	struct row *rows; /* sorted by start at the end */
	uint32_t nrows, rows_cap;
	struct line *lines;
	uint32_t nlines, lines_cap;
	struct buf text;
	struct {
		uint64_t addr; /* of the function whose lines were read last */
		uint32_t first, n;
	} info;
};

bool
jitdump_is_path(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits && !strcmp(name + 5 + digits, ".dump");
}

static int
add_row(struct jitdump *d, struct row row)
{
	int rc = ROWS_ROOM_OF(d->rows, d->rows_cap, d->nrows, 1,
	                      JITDUMP_MAX_ROWS);

	if (rc || row.end <= row.start)
		return rc;
	row.order = d->nrows;
	d->rows[d->nrows++] = row;
	return 0;
}

/* --- records -------------------------------------------------------------- */

struct source {
	jitdump_read *read;
	void *arg;
	uint64_t at; /* offset of the record's contents */
	size_t n;    /* their bytes */
};

/* Reads a name, which ends before the code. */
static int
read_name(const struct source *s, size_t skip, char out[JITDUMP_MAX_NAME])
{
	size_t n = s->n - skip;

	if (n > JITDUMP_MAX_NAME - 1)
		n = JITDUMP_MAX_NAME - 1;
	memset(out, 0, JITDUMP_MAX_NAME);
	return s->read(s->arg, s->at + skip, out, n) ? 0 : -ENODATA;
}

static int
take_load(struct jitdump *d, const struct source *s)
{
	char name[JITDUMP_MAX_NAME];
	struct load load;
	struct row row;
	int rc;

	if (s->n <= sizeof(load) ||
	    !s->read(s->arg, s->at, &load, sizeof(load)))
		return -ENODATA;
	rc = read_name(s, sizeof(load), name);
	if (rc)
		return rc;
	row = (struct row){.start = load.addr,
	                   .end = load.addr + load.size,
	                   .name = (uint32_t)d->text.len};
	if (d->info.addr == load.addr) {
		row.first = d->info.first;
		row.nlines = d->info.n;
	}
	d->info.n = 0;
	buf_add(&d->text, name, strlen(name) + 1);
	return buf_err(&d->text) ? buf_err(&d->text) : add_row(d, row);
}

/* Moves the last function that was loaded at an address. */
static int
take_move(struct jitdump *d, const struct source *s)
{
	struct move move;
	struct row row;

	if (s->n < sizeof(move) || !s->read(s->arg, s->at, &move, sizeof(move)))
		return -ENODATA;
	for (uint32_t i = d->nrows; i--;) {
		if (d->rows[i].start != move.from)
			continue;
		row = d->rows[i];
		row.moved += move.from - move.to;
		row.start = move.to;
		row.end = move.to + move.size;
		return add_row(d, row);
	}
	return 0;
}

/* Takes one entry of debug information off [*p, end). */
static bool
next_line(const char **p, const char *end, struct line *out, const char **file)
{
	const char *nul;

	if ((size_t)(end - *p) <= 16)
		return false;
	memcpy(&out->addr, *p, 8);
	memcpy(&out->line, *p + 8, 4);
	*file = *p + 16;
	nul = memchr(*file, '\0', (size_t)(end - *file));
	*p = nul ? nul + 1 : end;
	return nul;
}

static int
add_lines(struct jitdump *d, const char *p, const char *end, uint64_t count)
{
	struct line row = {.file = 0};
	const char *file;
	int rc = 0;

	d->info.first = d->nlines;
	for (; count-- && !rc && next_line(&p, end, &row, &file);) {
		if (strcmp(file, "\xff") != 0) { /* otherwise the file of the
			                            entry before */
			row.file = (uint32_t)d->text.len;
			buf_puts(&d->text, file);
			buf_putc(&d->text, '\0');
		}
		rc = ROWS_ROOM_OF(d->lines, d->lines_cap, d->nlines, 1,
		                  JITDUMP_MAX_LINES);
		if (!rc)
			d->lines[d->nlines++] = row;
	}
	d->info.n = d->nlines - d->info.first;
	return rc ? rc : buf_err(&d->text);
}

static int
take_lines(struct jitdump *d, const struct source *s)
{
	CLEANUP_FREE char *bytes = NULL;
	uint64_t head[2]; /* address, number of entries */

	if (s->n < sizeof(head) || s->n > JITDUMP_MAX_INFO)
		return 0;
	bytes = malloc(s->n);
	if (!bytes)
		return -ENOMEM;
	if (!s->read(s->arg, s->at, bytes, s->n))
		return -ENODATA;
	memcpy(head, bytes, sizeof(head));
	d->info.addr = head[0];
	return add_lines(d, bytes + sizeof(head), bytes + s->n, head[1]);
}

static int
take_record(struct jitdump *d, uint32_t id, const struct source *s)
{
	switch (id) {
	case CODE_LOAD:
		return take_load(d, s);
	case CODE_MOVE:
		return take_move(d, s);
	case CODE_DEBUG_INFO:
		return take_lines(d, s);
	default:
		return 0;
	}
}

/* Reads records until one is bad; those before are kept. */
static int
read_records(struct jitdump *d, jitdump_read *read, void *arg, uint64_t at)
{
	struct record_head head;
	int rc = 0;

	while (!rc && read(arg, at, &head, sizeof(head)) &&
	       head.size >= sizeof(head)) {
		struct source s = {read, arg, at + sizeof(head),
		                   head.size - sizeof(head)};

		rc = take_record(d, head.id, &s);
		at += head.size;
	}
	return rc == -ENOMEM ? rc : 0;
}

/* --- order ---------------------------------------------------------------- */

static int
by_start(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order < y->order) - (x->order > y->order);
}

/* Resolves overlaps: the later function wins, as in perf maps. */
static void
resolve_overlaps(struct jitdump *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nrows; i++) {
		struct row now = d->rows[i];

		if (n && d->rows[n - 1].end > now.start) {
			if (d->rows[n - 1].order > now.order)
				continue;
			d->rows[n - 1].end = now.start;
		}
		d->rows[n++] = now;
	}
	d->nrows = n;
}

static int
by_address(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void
sort_all(struct jitdump *d)
{
	for (uint32_t i = 0; i < d->nrows; i++)
		if (d->rows[i].nlines)
			qsort(d->lines + d->rows[i].first, d->rows[i].nlines,
			      sizeof(*d->lines), by_address);
	if (d->nrows)
		qsort(d->rows, d->nrows, sizeof(*d->rows), by_start);
	resolve_overlaps(d);
}

/* --- the whole dump ------------------------------------------------------- */

int
jitdump_new(jitdump_read *read, void *arg, struct jitdump **out)
{
	CLEANUP_JITDUMP struct jitdump *d = NULL;
	struct file_head head;
	int rc;

	if (!read(arg, 0, &head, sizeof(head)) || head.magic != MAGIC ||
	    head.version != 1 || head.size < sizeof(head))
		return -ENOEXEC;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->text = BUF_INIT(JITDUMP_MAX_TEXT);
	rc = read_records(d, read, arg, head.size);
	if (rc)
		return rc;
	sort_all(d);
	*out = TAKE(d);
	return 0;
}

void
jitdump_free(struct jitdump *d)
{
	if (!d)
		return;
	free(d->rows);
	free(d->lines);
	buf_done(&d->text);
	free(d);
}

/* Finds the last line that begins at or before an address. */
static const struct line *
line_at(const struct jitdump *d, const struct row *row, uint64_t addr)
{
	const struct line *found = NULL;

	for (uint32_t i = 0; i < row->nlines; i++) {
		const struct line *l = &d->lines[row->first + i];

		if (l->addr > addr)
			break;
		found = l;
	}
	return found;
}

bool
jitdump_lookup(const struct jitdump *d, uint64_t addr, struct jit_place *out)
{
	size_t lo = ROWS_WHILE(d->nrows, i, d->rows[i].start <= addr);
	const struct line *line;
	const struct row *row;

	if (!lo || addr >= d->rows[lo - 1].end)
		return false;
	row = &d->rows[lo - 1];
	*out = (struct jit_place){.name = d->text.p + row->name};
	line = line_at(d, row, addr + row->moved);
	if (line) {
		out->file = d->text.p + line->file;
		out->line = line->line;
		out->start_line = d->lines[row->first].line;
	}
	return *out->name;
}
