#include "debug_cache.h"

#include "base/clock.h"
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define TEMP      ".tmp-"
#define SUFFIX    ".debug"
#define FILE_COST 4096 /* the least that a file counts as */

void
debug_cache_name(const uint8_t *build_id, uint32_t size,
                 char out[static DEBUG_CACHE_NAME])
{
	for (uint32_t i = 0; i < size; i++)
		snprintf(out + 2 * i, 3, "%02x", build_id[i]);
	strcpy(out + 2 * size, SUFFIX);
}

/* --- the files ------------------------------------------------------------ */

typedef void
each_file(void *arg, int dir, const char *name, const struct stat *st);

static void
for_each(int dir, each_file *look, void *arg)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FOLDER DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (!fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			look(arg, dir, e->d_name, &st);
}

static void
remove_unfinished(void *arg, int dir, const char *name, const struct stat *st)
{
	(void)arg;
	(void)st;
	if (!strncmp(name, TEMP, strlen(TEMP)))
		unlinkat(dir, name, 0);
}

struct sum {
	int64_t bytes;
	struct timespec oldest;
	char name[DEBUG_CACHE_NAME]; /* "": none */
};

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
	                              : a->tv_nsec < b->tv_nsec;
}

static void
add_up(void *arg, int dir, const char *name, const struct stat *st)
{
	struct sum *s = arg;
	size_t n = strlen(name);

	(void)dir;
	if (n >= sizeof(s->name) || n < strlen(SUFFIX) ||
	    strcmp(name + n - strlen(SUFFIX), SUFFIX) != 0)
		return;
	s->bytes += st->st_size > FILE_COST ? st->st_size : FILE_COST;
	if (*s->name && !is_before(&st->st_mtim, &s->oldest))
		return;
	s->oldest = st->st_mtim;
	strcpy(s->name, name);
}

static void
make_room(const struct debug_cache *c)
{
	for (;;) {
		struct sum s = {.bytes = 0};

		for_each(c->dir, add_up, &s);
		if (s.bytes <= c->max_bytes || !*s.name ||
		    unlinkat(c->dir, s.name, 0))
			return;
	}
}

/* --- the directory -------------------------------------------------------- */

int
debug_cache_open(const struct conf *conf, struct debug_cache *out)
{
	const char *own = conf->symbols_cache_dir;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FD int fd = -1;
	struct stat st;

	if (*own)
		buf_puts(&path, own);
	else
		buf_addf(&path, "%s/" DEBUG_CACHE_BELOW, conf->store_dir);
	if (buf_err(&path))
		return buf_err(&path);
	if (mkdir(buf_str(&path), 0750) && errno != EEXIST)
		return -errno;
	fd = open(buf_str(&path),
	          O_RDONLY | O_DIRECTORY | O_CLOEXEC | (*own ? 0 : O_NOFOLLOW));
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	/* Files are removed there, so a directory of another user is not used:
	 * the API's user may have made it, or a link to another directory. */
	if (!*own && st.st_uid != geteuid())
		return -EACCES;
	for_each(fd, remove_unfinished, NULL);
	*out = (struct debug_cache){TAKE_FD(fd), conf->symbols_cache_bytes};
	make_room(out);
	return 0;
}

void
debug_cache_close(struct debug_cache *c)
{
	close_ptr(&c->dir);
}

/* --- one file ------------------------------------------------------------- */

enum debug_cache_state
debug_cache_look(const struct debug_cache *c, const char *name, int64_t now_ms)
{
	struct stat st;
	int64_t age_ms;

	if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return DEBUG_CACHE_NONE;
	if (st.st_size)
		return DEBUG_CACHE_FILE;
	age_ms = now_ms - (int64_t)st.st_mtim.tv_sec * MS_PER_S;
	return age_ms < DEBUG_CACHE_NO_MS ? DEBUG_CACHE_NO : DEBUG_CACHE_NONE;
}

void
debug_cache_touch(const struct debug_cache *c, const char *name)
{
	struct stat st;

	/* If the time can't be set, its last use only seems to be earlier. */
	if (!fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_size)
		(void)!utimensat(c->dir, name, NULL, AT_SYMLINK_NOFOLLOW);
}

int
debug_cache_create(const struct debug_cache *c, char temp[static ID_MAX],
                   int *fd)
{
	int new;

	id_new(TEMP, temp);
	new = openat(c->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (new < 0)
		return -errno;
	*fd = new;
	return 0;
}

int
debug_cache_keep(const struct debug_cache *c, const char *temp, int fd,
                 const char *name)
{
	if (fdatasync(fd) || renameat(c->dir, temp, c->dir, name)) {
		int rc = -errno;

		debug_cache_drop(c, temp);
		return rc;
	}
	make_room(c);
	return 0;
}

void
debug_cache_drop(const struct debug_cache *c, const char *temp)
{
	unlinkat(c->dir, temp, 0);
}

int
debug_cache_deny(const struct debug_cache *c, const char *name)
{
	char temp[ID_MAX];
	CLEANUP_FD int fd = -1;
	int rc = debug_cache_create(c, temp, &fd);

	return rc ? rc : debug_cache_keep(c, temp, fd, name);
}
