#include "context.h"

#include "base/buf.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIGNATURE "OTEL_CTX"
#define VERSION   2

/* As in memory. */
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

/* Returns the name in a line, which is behind five fields, and its length.
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
context_find(const char *maps, size_t n, uint64_t out[static CONTEXT_MAX_NAMED])
{
	const char *end = maps + n, *next;
	size_t found = 0, len;

	for (const char *line = maps; line < end && found < CONTEXT_MAX_NAMED;
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

/* Reads a context once.
 *   Errors   -EAGAIN it changed meanwhile */
static int
read_once(const struct memory *m, uint64_t address, struct context *c)
{
	CLEANUP_FREE uint8_t *payload = NULL;
	struct header h, after;
	int copied, rc = read_header(m, address, &h);

	if (rc || (c->address == address && c->published_ns == h.published_ns))
		return rc;
	context_done(c);
	if (!h.published_ns)
		return -EAGAIN;
	if (h.size > CONTEXT_MAX_BYTES)
		return -E2BIG;
	payload = malloc(h.size + (size_t)1);
	if (!payload)
		return -ENOMEM;
	copied = h.size ? memory_copy(m, h.payload, payload, h.size) : 0;
	rc = read_header(m, address, &after);
	if (!rc && after.published_ns != h.published_ns)
		rc = -EAGAIN;
	rc = rc ?: copied ?: context_parse(payload, h.size, c);
	if (rc)
		return rc;
	c->address = address;
	c->published_ns = h.published_ns;
	return 0;
}

static int
read_at(const struct memory *m, uint64_t address, struct context *c)
{
	int rc = -EAGAIN;

	for (int i = 0; i < CONTEXT_TRIES && rc == -EAGAIN; i++)
		rc = read_once(m, address, c);
	if (rc)
		context_done(c);
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
context_read(const struct memory *m, struct context *c)
{
	CLEANUP_BUF struct buf maps = BUF_INIT(CONTEXT_MAX_MAPS);
	uint64_t at[CONTEXT_MAX_NAMED];
	size_t n;
	int rc = c->address ? read_at(m, c->address, c) : -ENOENT;

	if (rc != -ENOENT && rc != -EFAULT)
		return rc;
	rc = read_maps(m, &maps);
	if (rc)
		return rc;
	n = context_find(maps.p, maps.len, at);
	rc = -ENOENT;
	for (size_t i = 0; i < n && rc == -ENOENT; i++)
		rc = read_at(m, at[i], c);
	return rc;
}
