#include "local_files.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/table.h"
#include "capture/elf/elf_id.h"
#include "capture/symbols/debug_file.h"
#include "capture/symbols/kallsyms.h"
#include "capture/unwind/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"
#define VDSO       "[vdso]"
#define VDSO_BYTES 8192 /* read of it, as far as it is mapped */

struct added {
	char *path;
	char build_id[2 * HOST_BUILD_ID + 1]; /* hexadecimal */
};

struct known {
	char *path, *build_id;
	struct local_image *image; /* does not move */
};

struct local_files {
	bool here;
	struct added *added;
	uint32_t nadded, added_room;
	struct known *known;
	uint32_t nknown, known_room;
	struct table by_path; /* rows of known */
	struct host host;
	struct buf kernel_bytes;
	struct symtab kernel;
	bool kernel_read;
};

/* --- questions of capture/symbols ----------------------------------------- */

/* A path may lead to a FIFO, which must not be waited for. */
static int
open_readable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* Opens the debug file of a build-id, or one that several share. */
static int
open_debug(const struct host_ask *ask)
{
	CLEANUP_BUF struct buf path = BUF_INIT(HOST_MAX_PATH);

	if (*ask->path) {
		buf_addf(&path, DEBUG_ROOT "/%s", ask->path);
	} else {
		buf_puts(&path, DEBUG_ROOT "/.build-id/");
		buf_hex(&path, ask->build_id, 1);
		buf_putc(&path, '/');
		buf_hex(&path, ask->build_id + 1, ask->size - 1);
		buf_puts(&path, ".debug");
	}
	return open_readable(buf_str(&path));
}

static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	int fd = -ENOSYS;

	(void)arg;
	*reply = (struct host_reply){0};
	*nfds = 0;
	if (ask->op == HOST_DEBUG)
		fd = open_debug(ask);
	else if (ask->op == HOST_FILE)
		fd = open_readable(ask->path);
	if (fd < 0)
		reply->error = fd;
	else
		fds[(*nfds)++] = fd;
	return 0;
}

const struct host *
local_host(const struct local_files *f)
{
	return &f->host;
}

/* --- life ----------------------------------------------------------------- */

struct local_files *
local_files_new(bool here)
{
	struct local_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->here = here;
	f->host.ask = answer;
	f->kernel_bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	return f;
}

static void
image_free(struct local_image *i)
{
	if (!i)
		return;
	unwind_table_free(i->table);
	elf_free(i->elf);
	elf_free(i->debug);
	free(i);
}

void
local_files_free(struct local_files *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->nadded; i++)
		free(f->added[i].path);
	for (uint32_t i = 0; i < f->nknown; i++) {
		free(f->known[i].path);
		free(f->known[i].build_id);
		image_free(f->known[i].image);
	}
	free(f->added);
	free(f->known);
	table_done(&f->by_path);
	buf_done(&f->kernel_bytes);
	free(f);
}

/* --- files that are added ------------------------------------------------- */

static void
hex_of(const struct elf_image *elf, char out[static 2 * HOST_BUILD_ID + 1])
{
	CLEANUP_BUF struct buf hex = BUF_INIT(2 * ELF_MAX_BUILD_ID + 1);

	buf_hex(&hex, elf->build_id, elf->build_id_size);
	snprintf(out, 2 * HOST_BUILD_ID + 1, "%s", buf_str(&hex));
}

static int
open_path(const char *path, struct elf_image **out)
{
	CLEANUP_FD int fd = open_readable(path);
	int rc;

	if (fd < 0)
		return fd;
	rc = elf_open_fd(fd, out);
	if (!rc)
		TAKE_FD(fd);
	return rc;
}

static int
add_file(struct local_files *f, const char *path)
{
	CLEANUP_ELF struct elf_image *elf = NULL;
	struct added *row;
	int rc = open_path(path, &elf)
	                 ?: ROWS_ROOM(f->added, f->added_room, f->nadded, 1);

	if (rc)
		return rc;
	row = &f->added[f->nadded];
	row->path = strdup(path);
	if (!row->path)
		return -ENOMEM;
	hex_of(elf, row->build_id);
	f->nadded++;
	return 0;
}

static void
fts_free(FTS **t)
{
	if (*t)
		fts_close(*t);
}

int
local_files_add(struct local_files *f, const char *path)
{
	char *const paths[] = {(char *)path, NULL};
	CLEANUP(fts_free)
	FTS *t = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	                  NULL);
	FTSENT *e;
	bool folder = false;
	int rc = 0;

	if (!t)
		return -errno;
	while (!rc && (e = fts_read(t))) {
		folder = folder || (e->fts_info == FTS_D && !e->fts_level);
		if (e->fts_info == FTS_NS && !e->fts_level)
			return -e->fts_errno;
		if (e->fts_info != FTS_F)
			continue;
		rc = add_file(f, e->fts_path);
		if (folder && rc != -E2BIG && rc != -ENOMEM)
			rc = 0; /* not all files of a folder are ELF files */
	}
	return rc;
}

/* --- the file of a mapping ------------------------------------------------ */

static bool
is_right(const struct elf_image *elf, const char *build_id)
{
	return !*build_id || elf_has_id(elf, build_id);
}

static struct elf_image *
open_right(const char *path, const char *build_id)
{
	CLEANUP_ELF struct elf_image *elf = NULL;

	if (open_path(path, &elf) || !is_right(elf, build_id))
		return NULL;
	return TAKE(elf);
}

/* Finds a file by Go's build ID or by its htlhash. */
static struct elf_image *
open_by_other_id(const struct local_files *f, const char *id)
{
	struct elf_image *elf = NULL;

	for (uint32_t i = 0; i < f->nadded && !elf; i++)
		elf = open_right(f->added[i].path, id);
	return elf;
}

/* Finds a file among those that were added, by its build-id, or else by its
 * name. */
static struct elf_image *
open_added(const struct local_files *f, const char *path, const char *build_id)
{
	for (uint32_t i = 0; i < f->nadded; i++) {
		const struct added *a = &f->added[i];

		if (*build_id ? !strcmp(a->build_id, build_id)
		              : !strcmp(path_name(a->path), path_name(path)))
			return open_right(a->path, build_id);
	}
	return elf_id_is_other(build_id) ? open_by_other_id(f, build_id) : NULL;
}

static struct elf_image *
open_vdso(const char *build_id)
{
	CLEANUP_ELF struct elf_image *elf = NULL;
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (!at || elf_open_memory(at, VDSO_BYTES, &elf) ||
	    !is_right(elf, build_id))
		return NULL;
	return TAKE(elf);
}

/* Finds a file that is not a program, but the debug file of one. */
static struct elf_image *
open_by_debug(const struct local_files *f, const char *build_id)
{
	uint8_t id[HOST_BUILD_ID];
	uint32_t n = build_id_parse(build_id, id);

	return n ? debug_file_of_build_id(&f->host, id, n) : NULL;
}

static void
find_image(struct local_files *f, const char *path, const char *build_id,
           struct local_image *out)
{
	out->elf = open_added(f, path, build_id);
	if (!out->elf && f->here && !strcmp(path, VDSO))
		out->elf = open_vdso(build_id);
	if (!out->elf && *path == '/' && (*build_id || f->here))
		out->elf = open_right(path, build_id);
	if (!out->elf)
		out->elf = open_by_debug(f, build_id);
	else if (out->elf->fd >= 0)
		out->debug = debug_file_of_host(&f->host, out->elf)
		                     ?: debug_file_of_target(&f->host, 0, path,
		                                             out->elf);
}

struct known_key {
	const struct local_files *f;
	const char *path, *build_id;
};

static bool
same_known(const void *key, uint32_t row)
{
	const struct known_key *k = key;
	const struct known *is = &k->f->known[row];

	return !strcmp(is->path, k->path) && !strcmp(is->build_id, k->build_id);
}

struct local_image *
local_image(struct local_files *f, const char *path, const char *build_id)
{
	const struct known_key key = {f, path, build_id};
	uint64_t hash = hash_pair(hash_bytes(path, strlen(path)),
	                          hash_bytes(build_id, strlen(build_id)));
	uint32_t at = table_find(&f->by_path, hash, same_known, &key);
	struct known *row;

	if (at != TABLE_NONE)
		return f->known[at].image;
	if (ROWS_ROOM(f->known, f->known_room, f->nknown, 1) ||
	    table_room(&f->by_path))
		return NULL;
	row = &f->known[f->nknown];
	row->path = strdup(path);
	row->build_id = strdup(build_id);
	row->image = calloc(1, sizeof(*row->image));
	table_put(&f->by_path, hash, f->nknown++);
	if (!row->path || !row->build_id || !row->image)
		return NULL;
	find_image(f, path, build_id, row->image);
	return row->image;
}

/* --- the kernel ----------------------------------------------------------- */

/* True if this kernel has the build-id. */
static bool
is_this_kernel(const char *build_id)
{
	CLEANUP_BUF struct buf notes = BUF_INIT(BUF_MAX_SMALL);
	uint8_t id[HOST_BUILD_ID];
	uint32_t n = build_id_parse(build_id, id);

	return n && !file_read(AT_FDCWD, "/sys/kernel/notes", &notes) &&
	       memmem(buf_str(&notes), notes.len, id, n);
}

static int
read_kernel(struct local_files *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT(KALLSYMS_MAX_BYTES);
	int rc = file_read(AT_FDCWD, "/proc/kallsyms", &text)
	                 ?: kallsyms_build(&text, &f->kernel_bytes);
	struct symbols_piece piece = {buf_str(&f->kernel_bytes),
	                              f->kernel_bytes.len};

	return rc ?: symtab_open(&piece, &f->kernel);
}

const struct symtab *
local_kernel(struct local_files *f, const char *build_id)
{
	if (*build_id ? !is_this_kernel(build_id) : !f->here)
		return NULL;
	if (!f->kernel_read)
		(void)!read_kernel(f);
	f->kernel_read = true;
	return f->kernel.n ? &f->kernel : NULL;
}
