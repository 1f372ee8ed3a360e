#include "debug_file.h"

#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ROOT "/usr/lib/debug"

/* --- files of the host ---------------------------------------------------- */

static bool
has_build_id(const struct elf_image *e, const uint8_t *id, uint32_t size)
{
	return e->build_id_size == size && !memcmp(e->build_id, id, size);
}

/* Opens a file by the build-id in its name, if that is the file's own build-id,
 * too. */
static enum host_debug_state
by_build_id(const struct host *host, const uint8_t *id, uint32_t size,
            const char *path, struct elf_image **out)
{
	struct host_ask ask = {.op = HOST_DEBUG, .size = size};
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_FD int fd = -1;
	int rc;

	if (!size || size > HOST_BUILD_ID || strlen(path) >= sizeof(ask.path))
		return HOST_DEBUG_NONE;
	memcpy(ask.build_id, id, size);
	strcpy(ask.path, path);
	if (host_fd(host, &ask, &fd))
		return HOST_DEBUG_NONE;
	rc = elf_open_fd(fd, &e);
	if (rc) /* another process may have more memory */
		return rc == -ENOMEM ? HOST_DEBUG_NONE : HOST_DEBUG_REFUSED;
	TAKE_FD(fd);
	if (!has_build_id(e, id, size))
		return HOST_DEBUG_REFUSED;
	*out = TAKE(e);
	return HOST_DEBUG_USED;
}

/* True when a debug file could have names that the image lacks: Go's own table
 * has them all. */
static bool
is_worth_having(const struct elf_image *elf)
{
	return elf->fd >= 0 && !elf_section(elf, ".debug_info") &&
	       !elf_section(elf, ".gopclntab") &&
	       !elf_section(elf, ".data.rel.ro.gopclntab");
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
open_asked(const struct host *host, const struct host_ask *ask)
{
	struct elf_image *e;
	CLEANUP_FD int fd = -1;

	if (host_fd(host, ask, &fd) || elf_open_fd(fd, &e))
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
        const char *path)
{
	struct host_ask ask = {.op = HOST_FILE, .pid = pid};
	CLEANUP_ELF struct elf_image *e = NULL;

	if (strlen(path) >= sizeof(ask.path))
		return NULL;
	strcpy(ask.path, path);
	e = open_asked(host, &ask);
	if (!e || !may_match(elf, e) || elf_debug_matches(elf, e))
		return NULL;
	return TAKE(e);
}

static struct elf_image *
by_id_in_root(const struct host *host, int32_t pid, const struct elf_image *elf)
{
	CLEANUP_BUF struct buf path = BUF_INIT(HOST_MAX_PATH);

	if (elf->build_id_size < 2)
		return NULL;
	buf_puts(&path, ROOT "/.build-id/");
	buf_hex(&path, elf->build_id, 1);
	buf_putc(&path, '/');
	buf_hex(&path, elf->build_id + 1, elf->build_id_size - 1);
	buf_puts(&path, ".debug");
	return buf_err(&path) ? NULL : by_path(host, pid, elf, buf_str(&path));
}

static struct elf_image *
by_link(const struct host *host, int32_t pid, const struct elf_image *elf,
        const char *path)
{
	static const struct {
		const char *above, *below;
	} places[] = {{"", ""}, {"", "/.debug"}, {ROOT, ""}};
	const char *slash = strrchr(path, '/');
	char name[ELF_MAX_NAME], tried[HOST_MAX_PATH];
	struct elf_image *e = NULL;
	uint32_t crc;

	if (!slash || elf_debuglink(elf, name, &crc))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(places) && !e; i++) {
		int n = snprintf(tried, sizeof(tried), "%s%.*s%s/%s",
		                 places[i].above, (int)(slash - path), path,
		                 places[i].below, name);

		if (n > 0 && (size_t)n < sizeof(tried) &&
		    strcmp(tried, path) != 0)
			e = by_path(host, pid, elf, tried);
	}
	return e;
}

struct elf_image *
debug_file_of_target(const struct host *host, int32_t pid, const char *path,
                     const struct elf_image *elf)
{
	struct elf_image *e = by_id_in_root(host, pid, elf);

	return e ? e : by_link(host, pid, elf, path);
}
