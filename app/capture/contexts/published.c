#include "published.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIGNATURE "OTEL_CTX"
#define VERSION   2

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published_ns; /* 0: it is being written */
	uint64_t payload;      /* address */
};
_Static_assert(sizeof(struct header) == 32, "as in memory");

/* --- the mapping ---------------------------------------------------------- */

/* True for the name of a context's mapping, up to the end of the line. */
static bool
is_named(const char *name, size_t n)
{
	static const char *const names[] = {
		"[anon_shmem:" SIGNATURE "]",
		"[anon:" SIGNATURE "]",
		"/memfd:" SIGNATURE,
		"/memfd:" SIGNATURE " (deleted)",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return true;
	return false;
}

/* Returns the name in a line, which follows five fields, and its length.
 *   Source   proc_pid_maps(5) */
static const char *
name_of(const char *line, const char *end, size_t *n)
{
	for (int field = 0; field < 5; field++) {
		while (line < end && *line != ' ')
			line++;
		while (line < end && *line == ' ')
			line++;
	}
	*n = (size_t)(end - line);
	return line;
}

size_t
published_find(const char *maps, size_t n,
               uint64_t out[static PUBLISHED_MAX_NAMED])
{
	const char *end = maps + n, *next;
	size_t found = 0, len;

	for (const char *line = maps; line < end && found < PUBLISHED_MAX_NAMED;
	     line = next + 1) {
		const char *name;

		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			break;
		name = name_of(line, next, &len);
		if (is_named(name, len))
			out[found++] = strtoull(line, NULL, 16);
	}
	return found;
}

/* --- reading -------------------------------------------------------------- */

static int
read_header(const struct memory *m, uint64_t address, struct header *out)
{
	int rc = memory_copy(m, address, out, sizeof(*out));

	if (rc)
		return rc;
	return memcmp(out->signature, SIGNATURE, sizeof(out->signature)) ||
	                       out->version != VERSION
	               ? -ENOENT
	               : 0;
}

static int
read_payload(const struct memory *m, const struct header *h, struct buf *out)
{
	char *to;
	int rc;

	buf_clear(out);
	to = h->size ? buf_reserve(out, h->size) : NULL;
	if (!to)
		return buf_err(out);
	rc = memory_copy(m, h->payload, to, h->size);
	if (!rc)
		out->len = h->size;
	return rc;
}

/* Reads a context once; returns as published_read().
 *   Errors   -EAGAIN it changed meanwhile */
static int
read_once(const struct memory *m, uint64_t address, struct published *p,
          struct buf *out)
{
	struct header h, after;
	int copied, rc = read_header(m, address, &h);

	if (rc || (p->address == address && p->time_ns == h.published_ns))
		return rc;
	if (!h.published_ns)
		return -EAGAIN;
	if (h.size > PUBLISHED_MAX_BYTES)
		return -E2BIG;
	copied = read_payload(m, &h, out);
	rc = read_header(m, address, &after);
	if (!rc && after.published_ns != h.published_ns)
		rc = -EAGAIN;
	rc = rc ?: copied;
	if (rc)
		return rc;
	*p = (struct published){address, h.published_ns};
	return 1;
}

static int
read_at(const struct memory *m, uint64_t address, struct published *p,
        struct buf *out)
{
	int rc = -EAGAIN;

	for (int i = 0; i < PUBLISHED_TRIES && rc == -EAGAIN; i++)
		rc = read_once(m, address, p, out);
	if (rc < 0)
		*p = (struct published){0};
	return rc;
}

static int
read_maps(const struct memory *m, struct buf *out)
{
	struct host_ask ask = {.op = HOST_MAPS, .pid = m->pid};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(m->host, &ask, &fd);

	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = -errno;
	return rc ? rc : fd_read_all(fd, out);
}

int
published_read(const struct memory *m, struct published *p, struct buf *out)
{
	CLEANUP_BUF struct buf maps = BUF_INIT(PUBLISHED_MAX_MAPS);
	uint64_t at[PUBLISHED_MAX_NAMED];
	size_t n;
	int rc = p->address ? read_at(m, p->address, p, out) : -ENOENT;

	if (rc != -ENOENT && rc != -EFAULT)
		return rc;
	rc = read_maps(m, &maps);
	if (rc)
		return rc;
	n = published_find(maps.p, maps.len, at);
	rc = -ENOENT;
	for (size_t i = 0; i < n && rc == -ENOENT; i++)
		rc = read_at(m, at[i], p, out);
	return rc;
}
