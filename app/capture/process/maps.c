#include "maps.h"

#include "base/file.h"
#include "base/path.h"
#include "base/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROWS 32u

void
maps_done(struct maps *m)
{
	free(m->rows);
	*m = (struct maps){0};
}

void
maps_clear(struct maps *m)
{
	m->n = 0;
}

/* Returns the index of the first row that ends after addr. */
static uint32_t
first_after(const struct maps *m, uint64_t addr)
{
	return ROWS_WHILE(m->n, i, m->rows[i].end <= addr);
}

const struct map *
maps_find(const struct maps *m, uint64_t addr)
{
	uint32_t i = first_after(m, addr);

	return i < m->n && m->rows[i].start <= addr ? &m->rows[i] : NULL;
}

bool
maps_overlap(const struct maps *m, uint64_t start, uint64_t end)
{
	uint32_t i = first_after(m, start);

	return i < m->n && m->rows[i].start < end;
}

static int
reserve(struct maps *m, uint32_t n)
{
	uint32_t cap = m->cap ? m->cap : FIRST_ROWS;
	struct map *rows;

	if (n > MAPS_MAX)
		return -E2BIG;
	while (cap < n)
		cap *= 2;
	if (cap == m->cap)
		return 0;
	rows = realloc(m->rows, cap * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	m->rows = rows;
	m->cap = cap;
	return 0;
}

/* Replaces rows[from, to) by n rows. */
static void
splice(struct maps *m, uint32_t from, uint32_t to, const struct map *rows,
       uint32_t n)
{
	memmove(m->rows + from + n, m->rows + to,
	        (m->n - to) * sizeof(*m->rows));
	memcpy(m->rows + from, rows, n * sizeof(*rows));
	m->n = m->n - (to - from) + n;
}

int
maps_add(struct maps *m, const struct map *row)
{
	struct map put[3];
	uint32_t n = 0, from, to;
	int rc;

	if (row->start >= row->end)
		return -EINVAL;
	rc = reserve(m, m->n + 2); /* a row that is cut in two, and the new
	                              one */
	if (rc)
		return rc;
	from = to = first_after(m, row->start);
	while (to < m->n && m->rows[to].start < row->end)
		to++;
	if (from < to && m->rows[from].start < row->start) {
		put[n] = m->rows[from];
		put[n++].end = row->start;
	}
	put[n++] = *row;
	if (from < to && m->rows[to - 1].end > row->end) {
		put[n] = m->rows[to - 1];
		put[n++].start = row->end;
	}
	splice(m, from, to, put, n);
	return 0;
}

int
maps_copy(const struct maps *from, struct maps *to)
{
	int rc = from->n ? reserve(to, from->n) : 0;

	if (rc)
		return rc;
	splice(to, 0, 0, from->rows, from->n);
	return 0;
}

int
maps_text(const struct host *host, int32_t pid, struct buf *out,
          uint32_t *threads)
{
	struct host_ask ask = {.op = HOST_MAPS, .pid = pid};
	CLEANUP_FD int fd = -1;
	int rc = host_fd_value(host, &ask, &fd, threads);

	if (!rc)
		rc = fd_read_all(fd, out);
	if (rc == -ENOENT || (!rc && !out->len))
		rc = -ESRCH;
	return rc;
}

int
maps_parse(char *line, struct map_seen *out)
{
	struct map_seen seen = {0};
	char perms[5];
	int path = 0;

	/* The kernel pads the text before the path with spaces. */
	if (sscanf(line,
	           "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32
	           ":%" SCNx32 " %" SCNu64 " %n",
	           &seen.start, &seen.end, perms, &seen.offset, &seen.major,
	           &seen.minor, &seen.inode, &path) != 7 ||
	    strlen(perms) != 4 || seen.start >= seen.end)
		return -EBADMSG;
	seen.path = path ? line + path : "";
	seen.executable = perms[2] == 'x';
	*out = seen;
	return 0;
}

int
maps_split(char *text, struct map_seen **out, size_t *n)
{
	struct map_seen *rows;
	size_t lines = 1, found = 0;
	char *line;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	rows = calloc(lines, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	while ((line = strsep(&text, "\n")))
		found += !maps_parse(line, &rows[found]);
	*out = rows;
	*n = found;
	return 0;
}

bool
maps_same_file(const struct map_seen *a, const struct map_seen *b)
{
	return a->inode && a->inode == b->inode && a->major == b->major &&
	       a->minor == b->minor;
}

bool
maps_cut_unlinked(char *path)
{
	size_t n = proc_path_len(path);

	if (!path[n])
		return false;
	path[n] = '\0';
	return true;
}
