#include "kept.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/version.h"
#include "endpoint/call.h"
#include "store/files/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER "results"
#define SHARED "" /* instead of an operation: several use the bytes */
/* The name of a result: a hash of its tenant, and a digest of its inputs. */
#define TENANT_CHARS 16
#define NAME_SIZE    (TENANT_CHARS + 1 + DIGEST_CHARS)
#define PAGE         4096 /* what a file of any size takes of a tmpfs */
#define SHARE        4    /* a result may take one part in SHARE of all room */

struct kept {
	int dir;
	int64_t bytes;
};

/* The end of a file. A file that was not written completely lacks it. */
struct seal {
	uint64_t length, hash;
};

void
kept_close(struct kept *k)
{
	if (k)
		close_ptr(&k->dir);
	free(k);
}
DEFINE_CLEANUP(struct kept *, kept_close)

static int
open_folder(const char *dir, int *out)
{
	CLEANUP_FD int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int fd = -1;
	struct stat st;

	if (at < 0)
		return -errno;
	if (mkdirat(at, FOLDER, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, FOLDER,
	            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;
	*out = TAKE_FD(fd);
	return 0;
}

int
kept_open(const char *dir, int64_t bytes, struct kept **out)
{
	CLEANUP(kept_close_ptr) struct kept *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return -ENOMEM;
	*k = (struct kept){.dir = -1, .bytes = bytes};
	rc = open_folder(dir, &k->dir);
	if (!rc)
		*out = TAKE(k);
	return rc;
}

/* made: the operation, or a name shared by several operations. */
static int
name_of(const struct call *c, const char *made, const struct buf *of,
        char out[static NAME_SIZE])
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *tenant = c->caller.tenant;
	char hex[DIGEST_CHARS];
	int rc;

	buf_addf(&text, "%s\n%s\n%zu %s\n", stoker_version, made,
	         strlen(tenant), tenant);
	buf_add(&text, of->p, of->len);
	rc = buf_err(of) ?: buf_err(&text) ?: digest(text.p, text.len, hex);
	if (!rc)
		snprintf(out, NAME_SIZE, "%016llx-%s",
		         (unsigned long long)hash_bytes(tenant, strlen(tenant)),
		         hex);
	return rc;
}

/* Records that a result is used now. The kernel's clock for file times is too
 * coarse. */
static void
touch(const struct kept *k, const char *name)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

	(void)!clock_gettime(CLOCK_REALTIME, &times[1]);
	(void)!utimensat(k->dir, name, times, AT_SYMLINK_NOFOLLOW);
}

/* Cuts the seal off a file's bytes; false when it does not match them. */
static bool
unseal(struct buf *b)
{
	struct seal seal;

	if (b->len < sizeof(seal))
		return false;
	memcpy(&seal, b->p + b->len - sizeof(seal), sizeof(seal));
	if (seal.length != b->len - sizeof(seal) ||
	    seal.hash != hash_bytes(b->p, seal.length))
		return false;
	b->len = seal.length;
	b->p[b->len] = '\0';
	return true;
}

static bool
find(struct call *c, const char *made, const struct buf *of, struct buf *out)
{
	const struct kept *k = c->env->kept;
	char name[NAME_SIZE];

	buf_clear(out);
	if (!k || name_of(c, made, of, name))
		return false;
	if (file_read(k->dir, name, out) || !unseal(out)) {
		buf_clear(out);
		return false;
	}
	touch(k, name);
	counters_kept(c->env->counters);
	return true;
}

bool
kept_find(struct call *c, const struct buf *of)
{
	return find(c, c->route->name, of, &c->reply->body);
}

bool
kept_read(struct call *c, const struct buf *of, struct buf *out)
{
	return find(c, SHARED, of, out);
}

/* --- keeping -------------------------------------------------------------- */

static int
write_result(const struct kept *k, const char *name, const struct buf *b)
{
	const struct seal seal = {b->len, hash_bytes(b->p, b->len)};
	CLEANUP_FD int fd = openat(
		k->dir, name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return fd_write_all(fd, b->p, b->len)
	               ?: fd_write_all(fd, &seal, sizeof(seal));
}

struct result {
	char name[NAME_SIZE];
	int64_t bytes;
	struct timespec used;
};
struct results {
	int dir;
	struct result *items;
	size_t n;
	int64_t bytes;
};

static int
add_result(void *arg, const char *name)
{
	struct results *all = arg;
	struct result *r;
	struct stat st;

	if (strlen(name) >= NAME_SIZE ||
	    fstatat(all->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0; /* another process has removed it */
	if (!(all->n & (all->n - 1))) {
		size_t n = all->n ? 2 * all->n : 1;

		r = realloc(all->items, n * sizeof(*r));
		if (!r)
			return -ENOMEM;
		all->items = r;
	}
	r = &all->items[all->n++];
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->bytes = (st.st_size + PAGE - 1) / PAGE * PAGE;
	r->used = st.st_mtim;
	all->bytes += r->bytes;
	return 0;
}

/* Orders results by tenant, and then from the oldest. */
static int
by_use(const void *a, const void *b)
{
	const struct result *x = a, *y = b;
	int tenant = strncmp(x->name, y->name, TENANT_CHARS);

	if (tenant)
		return tenant;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) -
	       (x->used.tv_nsec < y->used.tv_nsec);
}

/* Returns the oldest result of the tenant that has the most bytes; NULL when
 * there is none. */
static struct result *
next_to_go(struct results *all)
{
	struct result *most = NULL, *first = NULL;
	int64_t sum = 0, largest = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct result *r = &all->items[i];

		if (!i || strncmp(r->name, r[-1].name, TENANT_CHARS) != 0) {
			sum = 0;
			first = NULL;
		}
		if (!first && r->bytes)
			first = r;
		sum += r->bytes;
		if (sum > largest) {
			largest = sum;
			most = first;
		}
	}
	return most;
}

static void
trim(const struct kept *k)
{
	struct results all = {.dir = k->dir};
	struct result *r;

	if (!folder_each(k->dir, add_result, &all) && all.n)
		qsort(all.items, all.n, sizeof(*all.items), by_use);
	while (all.bytes > k->bytes && (r = next_to_go(&all))) {
		(void)!unlinkat(k->dir, r->name, 0);
		all.bytes -= r->bytes;
		r->bytes = 0;
	}
	free(all.items);
}

static void
add(struct call *c, const char *made, const struct buf *of,
    const struct buf *bytes)
{
	const struct kept *k = c->env->kept;
	char name[NAME_SIZE], fresh[ID_MAX];

	if (!k || c->reads <= CALL_LIGHT || c->reply->cause.len ||
	    buf_err(bytes) || (int64_t)bytes->len > k->bytes / SHARE ||
	    name_of(c, made, of, name))
		return;
	id_new("new-", fresh);
	if (write_result(k, fresh, bytes) ||
	    renameat(k->dir, fresh, k->dir, name))
		(void)!unlinkat(k->dir, fresh, 0);
	touch(k, name);
	trim(k);
}

void
kept_add(struct call *c, const struct buf *of)
{
	add(c, c->route->name, of, &c->reply->body);
}

void
kept_write(struct call *c, const struct buf *of, const struct buf *bytes)
{
	add(c, SHARED, of, bytes);
}
