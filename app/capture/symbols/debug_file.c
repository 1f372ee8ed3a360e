#include "debug_file.h"

#include "base/buf.h"
#include "capture/elf/elf_packed.h"
#include "capture/gobin/gobin.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROOT   "/usr/lib/debug"
#define PLACES 4 /* where a target's root may have a debug file */

uint32_t
build_id_parse(const char *hex, uint8_t out[static HOST_BUILD_ID])
{
	uint32_t n = 0;
	unsigned byte;

	for (; hex[0] && hex[1]; hex += 2) {
		if (n == HOST_BUILD_ID || !isxdigit((unsigned char)hex[0]) ||
		    !isxdigit((unsigned char)hex[1]) ||
		    sscanf(hex, "%2x", &byte) != 1)
			return 0;
		out[n++] = (uint8_t)byte;
	}
	return hex[0] ? 0 : n;
}

/* --- what a file has ------------------------------------------------------ */

bool
debug_file_has_lines(const struct elf_image *elf)
{
	struct elf_packed p;

	return elf_packed_find(elf, ".debug_info", &p) != -ENOENT ||
	       elf_section(elf, ".gopclntab") ||
	       elf_section(elf, ".data.rel.ro.gopclntab");
}

bool
debug_file_names(const struct elf_image *elf)
{
	CLEANUP_GOBIN struct gobin *go = NULL;

	return debug_file_has_lines(elf) ||
	       elf_section_typed(elf, SHT_SYMTAB) ||
	       elf_section(elf, ".gnu_debugdata") || !gobin_open(elf, &go);
}

/* --- files of the host ---------------------------------------------------- */

static bool
has_build_id(const struct elf_image *e, const uint8_t *id, uint32_t size)
{
	return e->build_id_size == size && !memcmp(e->build_id, id, size);
}

/* Opens a file of the host that belongs to a build-id. */
static enum host_debug_state
open_kept(const struct host *host, const uint8_t *id, uint32_t size,
          const char *path, struct elf_image **out)
{
	struct host_ask ask = {.op = HOST_DEBUG, .size = size};
	CLEANUP_FD int fd = -1;
	int rc;

	if (!size || size > HOST_BUILD_ID || strlen(path) >= sizeof(ask.path))
		return HOST_DEBUG_NONE;
	memcpy(ask.build_id, id, size);
	strcpy(ask.path, path);
	if (host_fd(host, &ask, &fd))
		return HOST_DEBUG_NONE;
	rc = elf_open_fd(fd, out);
	if (rc) /* another process may have more memory */
		return rc == -ENOMEM ? HOST_DEBUG_NONE : HOST_DEBUG_REFUSED;
	TAKE_FD(fd);
	return HOST_DEBUG_USED;
}

/* Opens such a file; refuses it if its contents have another build-id. */
static enum host_debug_state
by_build_id(const struct host *host, const uint8_t *id, uint32_t size,
            const char *path, struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	enum host_debug_state state = open_kept(host, id, size, path, &e);

	if (state != HOST_DEBUG_USED)
		return state;
	if (!has_build_id(e, id, size))
		return HOST_DEBUG_REFUSED;
	*out = TAKE(e);
	return state;
}

/* True when a debug file could have names that the image lacks. */
static bool
is_worth_having(const struct elf_image *elf)
{
	return elf->fd >= 0 && !debug_file_has_lines(elf);
}

struct elf_image *
debug_file_of_host(const struct host *host, const struct elf_image *elf)
{
	struct elf_image *e = NULL;
	enum host_debug_state state =
		by_build_id(host, elf->build_id, elf->build_id_size, "", &e);

	if (state != HOST_DEBUG_NONE || is_worth_having(elf))
		host_debug_note(host, elf->build_id, elf->build_id_size, state);
	return e;
}

struct elf_image *
debug_file_of_build_id(const struct host *host, const uint8_t *id,
                       uint32_t size)
{
	struct elf_image *e = NULL;
	enum host_debug_state state = by_build_id(host, id, size, "", &e);

	if (state != HOST_DEBUG_NONE)
		host_debug_note(host, id, size, state);
	return e;
}

struct elf_image *
debug_file_shared(const struct host *host, const struct elf_image *debug)
{
	struct elf_image *e = NULL;
	struct elf_altlink link;
	enum host_debug_state state;
	const char *shared;

	if (elf_debugaltlink(debug, &link))
		return NULL;
	state = by_build_id(host, link.build_id, link.build_id_size, "", &e);
	shared = strstr(link.name, ".dwz/");
	if (!e && shared &&
	    by_build_id(host, link.build_id, link.build_id_size, shared, &e) ==
	            HOST_DEBUG_USED)
		return e;
	host_debug_note(host, link.build_id, link.build_id_size, state);
	return e;
}

/* --- files of the target -------------------------------------------------- */

static struct elf_image *
open_path(const struct host *host, int32_t pid, const char *path)
{
	struct host_ask ask = {.op = HOST_FILE, .pid = pid};
	struct elf_image *e;
	CLEANUP_FD int fd = -1;

	if (strlen(path) >= sizeof(ask.path))
		return NULL;
	strcpy(ask.path, path);
	if (host_fd(host, &ask, &fd) || elf_open_fd(fd, &e))
		return NULL;
	TAKE_FD(fd);
	return e;
}

static bool
may_match(const struct elf_image *elf, const struct elf_image *debug)
{
	return elf->build_id_size || debug->size <= DEBUG_FILE_MAX_CRC;
}

static struct elf_image *
by_path(const struct host *host, int32_t pid, const struct elf_image *elf,
        const struct buf *path)
{
	CLEANUP_ELF struct elf_image *e =
		!path->len || buf_err(path)
			? NULL
			: open_path(host, pid, buf_str(path));

	if (!e || !may_match(elf, e) || elf_debug_matches(elf, e))
		return NULL;
	return TAKE(e);
}

/* Writes the path at which a file with this build-id lies; "" if it has
 * none. */
static void
path_of_id(const uint8_t *id, uint32_t size, struct buf *out)
{
	if (size < 2)
		return;
	buf_puts(out, ROOT "/.build-id/");
	buf_hex(out, id, 1);
	buf_putc(out, '/');
	buf_hex(out, id + 1, size - 1);
	buf_puts(out, ".debug");
}

/* Writes one of the paths that the debug file of the image at path may have;
 * "" when it has none there. */
static void
debug_path(const struct elf_image *elf, const char *path, unsigned place,
           struct buf *out)
{
	static const struct {
		const char *above, *below;
	} by_link[PLACES] = {
		[1] = {"", ""}, [2] = {"", "/.debug"}, [3] = {ROOT, ""}};
	const char *slash = strrchr(path, '/');
	char name[ELF_MAX_NAME];
	uint32_t crc;

	buf_clear(out);
	if (!place)
		path_of_id(elf->build_id, elf->build_id_size, out);
	if (!place || !slash || elf_debuglink(elf, name, &crc))
		return;
	buf_addf(out, "%s%.*s%s/%s", by_link[place].above, (int)(slash - path),
	         path, by_link[place].below, name);
	if (!strcmp(buf_str(out), path))
		buf_clear(out);
}

struct elf_image *
debug_file_of_target(const struct host *host, int32_t pid, const char *path,
                     const struct elf_image *elf)
{
	CLEANUP_BUF struct buf tried = BUF_INIT(HOST_MAX_PATH);
	struct elf_image *e = NULL;

	for (unsigned i = 0; i < PLACES && !e; i++) {
		debug_path(elf, path, i, &tried);
		e = by_path(host, pid, elf, &tried);
	}
	return e;
}

/* Opens the file that a debug file refers to, if its build-id matches. */
static struct elf_image *
shared_at(const struct host *host, int32_t pid, const struct elf_altlink *link,
          struct buf *path)
{
	CLEANUP_ELF struct elf_image *e =
		!path->len || buf_err(path)
			? NULL
			: open_path(host, pid, buf_str(path));

	buf_clear(path);
	return e && has_build_id(e, link->build_id, link->build_id_size)
	               ? TAKE(e)
	               : NULL;
}

struct elf_image *
debug_file_shared_of_target(const struct host *host, int32_t pid,
                            const char *path, const struct elf_image *debug)
{
	static const char *const above[] = {"", ROOT};
	const char *slash = strrchr(path, '/'), *below;
	CLEANUP_BUF struct buf tried = BUF_INIT(HOST_MAX_PATH);
	struct elf_image *e;
	struct elf_altlink link;

	if (!slash || elf_debugaltlink(debug, &link))
		return NULL;
	path_of_id(link.build_id, link.build_id_size, &tried);
	e = shared_at(host, pid, &link, &tried);
	below = strstr(link.name, ".dwz/");
	if (!e && below) {
		buf_addf(&tried, ROOT "/%s", below);
		e = shared_at(host, pid, &link, &tried);
	}
	for (size_t i = 0; i < ARRAY_LEN(above) && !e; i++) {
		if (*link.name == '/')
			buf_addf(&tried, "%s%s", above[i], link.name);
		else
			buf_addf(&tried, "%s%.*s/%s", above[i],
			         (int)(slash - path), path, link.name);
		e = shared_at(host, pid, &link, &tried);
	}
	return e;
}

/* Opens the file whose path is the first na bytes of a, and then b. */
static struct elf_image *
open_joined(const struct host *host, int32_t pid, const char *a, int na,
            const char *b)
{
	char path[HOST_MAX_PATH];
	int n = snprintf(path, sizeof(path), "%.*s%s", na, a, b);

	return n > 0 && (size_t)n < sizeof(path) ? open_path(host, pid, path)
	                                         : NULL;
}

/* Opens the .dwp file that lies beside a debug file: it has the name of that
 * file, with or without ".debug", or the program's. */
static struct elf_image *
package_beside(const struct host *host, int32_t pid, const char *debug,
               const char *program)
{
	static const char end[] = ".debug";
	const int n = (int)strlen(debug), bare = n - (int)strlen(end);
	const char *name = strrchr(program, '/'), *slash = strrchr(debug, '/');
	struct elf_image *e = open_joined(host, pid, debug, n, ".dwp");
	char path[HOST_MAX_PATH];

	if (!e && bare > 0 && !strcmp(debug + bare, end))
		e = open_joined(host, pid, debug, bare, ".dwp");
	if (e || !name || !slash ||
	    snprintf(path, sizeof(path), "%s.dwp", name) >= (int)sizeof(path))
		return e;
	return open_joined(host, pid, debug, (int)(slash - debug), path);
}

/* Opens the .dwp file beside the host's debug file. */
static struct elf_image *
package_of_host(const struct host *host, const struct elf_image *elf)
{
	static const char *const ends[] = {".debug.dwp", ".dwp"};
	struct elf_image *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(ends) && !e; i++)
		(void)open_kept(host, elf->build_id, elf->build_id_size,
		                ends[i], &e);
	return e;
}

static struct elf_image *
package_of(const struct host *host, int32_t pid, const char *path,
           const struct elf_image *elf)
{
	CLEANUP_BUF struct buf debug = BUF_INIT(HOST_MAX_PATH);
	struct elf_image *e =
		open_joined(host, pid, path, (int)strlen(path), ".dwp");

	buf_addf(&debug, ROOT "%s", path);
	for (unsigned i = 0; !e && i <= PLACES; i++) {
		if (debug.len && !buf_err(&debug))
			e = package_beside(host, pid, buf_str(&debug), path);
		if (i < PLACES)
			debug_path(elf, path, i, &debug);
	}
	return e ? e : package_of_host(host, elf);
}

struct elf_image *
debug_file_split(const struct host *host, int32_t pid, const char *path,
                 const struct elf_image *elf, const char *dir, const char *name)
{
	const char *slash = strrchr(path, '/'), *base;
	char below[HOST_MAX_PATH];
	struct elf_image *e = NULL;

	if (!name)
		return package_of(host, pid, path, elf);
	if (*name == '/')
		e = open_path(host, pid, name);
	else if (dir && *dir == '/' &&
	         snprintf(below, sizeof(below), "/%s", name) <
	                 (int)sizeof(below))
		e = open_joined(host, pid, dir, (int)strlen(dir), below);
	base = strrchr(name, '/');
	if (e || !slash ||
	    snprintf(below, sizeof(below), "/%s", base ? base + 1 : name) >=
	            (int)sizeof(below))
		return e;
	return open_joined(host, pid, path, (int)(slash - path), below);
}
