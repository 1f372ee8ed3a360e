#include "counters.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Locked bytes of the file: one per slot from 0, then one per ticket and one
 * per place of a heavy request from here, and one that is held while places are
 * counted. */
#define TICKET_BYTE 4096
#define HEAVY_BYTE  8192
#define GUARD_BYTE  12288

static const int64_t bounds_us[COUNTERS_NBOUNDS] = COUNTERS_BOUNDS;

struct op_counters {
	atomic_uint_fast64_t by_class[COUNTERS_CLASSES];
	atomic_uint_fast64_t by_bound[COUNTERS_NBOUNDS + 1];
	atomic_uint_fast64_t sum_us;
};

struct shared {
	atomic_uchar busy[COUNTERS_MAX_SLOTS];
	struct op_counters ops[OP_COUNT + 1]; /* the last is for unknown
	                                         paths */
	atomic_uint_fast64_t store_errors;
	atomic_uint_fast64_t kept;
	atomic_uint_fast64_t refused[QUOTAS];
	atomic_uint_fast64_t heavy[COUNTERS_MAX_HEAVY]; /* hash of the tenant */
	atomic_uint heavy_changes;
};

struct counters {
	int fd;
	int pool;
	int slot;   /* -1: none was free; the process is then never counted
	               as busy */
	int ticket; /* -1: none */
	int nheavy;
	int heavy; /* the place that this process has; -1: none */
	struct shared *shared;
};

static int
lock_byte(int fd, off_t at, short type)
{
	struct flock l = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = at,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_SETLK, &l) ? -errno : 0;
}

static bool
locked_by_other(int fd, off_t at)
{
	struct flock l = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = at,
		.l_len = 1,
	};

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

/* Locks the first free byte of n bytes from at; -1 when all are taken. */
static int
take_byte(int fd, off_t at, int n)
{
	for (int i = 0; i < n; i++)
		if (!lock_byte(fd, at + i, F_WRLCK))
			return i;
	return -1;
}

/* Returns a hash of everything that the layout of a slot depends on. */
static uint64_t
layout_hash(void)
{
	uint64_t h = sizeof(struct shared);

	for (size_t i = 0; i < OP_COUNT; i++)
		h = hash_pair(
			h, hash_bytes(routes[i].name, strlen(routes[i].name)));
	return h;
}

static int
map_file(const char *dir, struct counters *c)
{
	char path[256];
	void *p;
	int rc;

	snprintf(path, sizeof(path), "%s/pool-%016llx", dir,
	         (unsigned long long)layout_hash());
	c->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
	if (c->fd < 0)
		return -errno;
	/* A page without room on the disk would end this process by SIGBUS. */
	rc = -posix_fallocate(c->fd, 0, sizeof(struct shared));
	if (rc)
		return rc;
	p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
	         MAP_SHARED, c->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	c->shared = p;
	return 0;
}

static void
counters_close_ptr(struct counters **c)
{
	counters_close(*c);
}

int
counters_open(const char *dir, int pool, int heavy, struct counters **out)
{
	CLEANUP(counters_close_ptr) struct counters *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	*c = (struct counters){.fd = -1,
	                       .pool = pool,
	                       .ticket = -1,
	                       .nheavy = heavy,
	                       .heavy = -1};
	rc = map_file(dir, c);
	if (rc)
		return rc;
	c->slot = take_byte(c->fd, 0, COUNTERS_MAX_SLOTS);
	counters_busy(c, false);
	*out = TAKE(c);
	return 0;
}

void
counters_close(struct counters *c)
{
	if (!c)
		return;
	if (c->shared)
		munmap(c->shared, sizeof(*c->shared));
	close_ptr(&c->fd);
	free(c);
}

void
counters_busy(struct counters *c, bool busy)
{
	if (c->slot >= 0)
		atomic_store_explicit(&c->shared->busy[c->slot], busy,
		                      memory_order_relaxed);
}

static void
add(atomic_uint_fast64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void
counters_request(struct counters *c, enum op op, int status, int64_t us)
{
	struct op_counters *o = &c->shared->ops[op];
	size_t b = 0;

	while (b < COUNTERS_NBOUNDS && us > bounds_us[b])
		b++;
	add(&o->by_class[(status / 100 - 1) % COUNTERS_CLASSES], 1);
	add(&o->by_bound[b], 1);
	add(&o->sum_us, (uint64_t)us);
}

void
counters_store_error(struct counters *c)
{
	add(&c->shared->store_errors, 1);
}

void
counters_kept(struct counters *c)
{
	add(&c->shared->kept, 1);
}

void
counters_quota(struct counters *c, enum quota q)
{
	add(&c->shared->refused[q], 1);
}

bool
counters_wait_begin(struct counters *c)
{
	c->ticket = take_byte(c->fd, TICKET_BYTE, c->pool / 2);
	return c->ticket >= 0;
}

void
counters_wait_end(struct counters *c)
{
	if (c->ticket >= 0)
		(void)lock_byte(c->fd, TICKET_BYTE + c->ticket, F_UNLCK);
	c->ticket = -1;
}

/* --- places for heavy requests -------------------------------------------- */

/* Locks the guard byte, which no process holds for more than a few system
 * calls. */
static int
guard(struct counters *c, short type)
{
	struct flock l = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = GUARD_BYTE,
		.l_len = 1,
	};

	return fcntl(c->fd, F_OFD_SETLKW, &l) ? -errno : 0;
}

/* Takes a free place, unless the tenant would then have the last one. */
static int
take_place(struct counters *c, uint64_t tenant)
{
	int most = c->nheavy > 1 ? c->nheavy - 1 : 1, has = 0, place;

	for (int i = 0; i < c->nheavy; i++)
		has += atomic_load(&c->shared->heavy[i]) == tenant &&
		       locked_by_other(c->fd, HEAVY_BYTE + i);
	if (has >= most)
		return -1;
	place = take_byte(c->fd, HEAVY_BYTE, c->nheavy);
	if (place >= 0)
		atomic_store(&c->shared->heavy[place], tenant);
	return place;
}

bool
counters_heavy_begin(struct counters *c, const char *tenant, uint32_t *changes)
{
	*changes = atomic_load(&c->shared->heavy_changes);
	if (guard(c, F_WRLCK))
		return false;
	c->heavy = take_place(c, hash_bytes(tenant, strlen(tenant)));
	(void)guard(c, F_UNLCK);
	return c->heavy >= 0;
}

static long
futex(atomic_uint *at, int op, uint32_t value, const struct timespec *most)
{
	return syscall(SYS_futex, at, op, value, most, NULL, 0);
}

void
counters_heavy_end(struct counters *c)
{
	if (c->heavy < 0)
		return;
	(void)lock_byte(c->fd, HEAVY_BYTE + c->heavy, F_UNLCK);
	c->heavy = -1;
	atomic_fetch_add(&c->shared->heavy_changes, 1);
	(void)futex(&c->shared->heavy_changes, FUTEX_WAKE, INT_MAX, NULL);
}

void
counters_heavy_wait(struct counters *c, uint32_t changes, int ms)
{
	const struct timespec most = {
		.tv_sec = ms / MS_PER_S,
		.tv_nsec = ms % MS_PER_S * NS_PER_MS,
	};

	(void)futex(&c->shared->heavy_changes, FUTEX_WAIT, changes, &most);
}

/* --- Prometheus text ------------------------------------------------------ */

static const char *
op_path(size_t op)
{
	return op < OP_COUNT ? routes[op].path : "none";
}

static const char *
op_method(size_t op)
{
	return op < OP_COUNT ? method_names[routes[op].method] : "any";
}

static void
write_requests(const struct shared *s, struct buf *out)
{
	buf_puts(out, "# HELP stoker_http_requests_total Requests answered.\n"
	              "# TYPE stoker_http_requests_total counter\n");
	for (size_t op = 0; op <= OP_COUNT; op++)
		for (size_t k = 0; k < COUNTERS_CLASSES; k++) {
			uint64_t n = atomic_load(&s->ops[op].by_class[k]);

			if (n)
				buf_addf(out,
				         "stoker_http_requests_total{"
				         "method=\"%s\",route=\"%s\","
				         "status=\"%zuxx\"} %llu\n",
				         op_method(op), op_path(op), k + 1,
				         (unsigned long long)n);
		}
}

static void
write_histogram(const struct op_counters *o, size_t op, struct buf *out)
{
	static const char name[] = "stoker_http_request_seconds";
	uint64_t sum = 0;
	char labels[160];

	for (size_t b = 0; b <= COUNTERS_NBOUNDS; b++)
		sum += atomic_load(&o->by_bound[b]);
	if (!sum)
		return;
	sum = 0;
	snprintf(labels, sizeof(labels), "method=\"%s\",route=\"%s\"",
	         op_method(op), op_path(op));
	for (size_t b = 0; b <= COUNTERS_NBOUNDS; b++) {
		char le[32] = "+Inf";

		sum += atomic_load(&o->by_bound[b]);
		if (b < COUNTERS_NBOUNDS)
			snprintf(le, sizeof(le), "%g",
			         (double)bounds_us[b] / 1e6);
		buf_addf(out, "%s_bucket{%s,le=\"%s\"} %llu\n", name, labels,
		         le, (unsigned long long)sum);
	}
	buf_addf(out, "%s_sum{%s} %.6f\n", name, labels,
	         (double)atomic_load(&o->sum_us) / 1e6);
	buf_addf(out, "%s_count{%s} %llu\n", name, labels,
	         (unsigned long long)sum);
}

static int
count_busy(const struct counters *c)
{
	int n = 0;

	for (int i = 0; i < COUNTERS_MAX_SLOTS; i++)
		if (atomic_load(&c->shared->busy[i]) &&
		    (i == c->slot || locked_by_other(c->fd, i)))
			n++;
	return n;
}

void
metric_head(struct buf *out, const char *name, const char *kind,
            const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void
counters_write(struct counters *c, struct buf *out)
{
	write_requests(c->shared, out);
	buf_puts(out, "# HELP stoker_http_request_seconds Time to answer.\n"
	              "# TYPE stoker_http_request_seconds histogram\n");
	for (size_t op = 0; op <= OP_COUNT; op++)
		write_histogram(&c->shared->ops[op], op, out);
	buf_addf(out,
	         "# HELP stoker_http_in_flight Requests being answered.\n"
	         "# TYPE stoker_http_in_flight gauge\n"
	         "stoker_http_in_flight %d\n"
	         "# HELP stoker_store_errors_total Failures of the store.\n"
	         "# TYPE stoker_store_errors_total counter\n"
	         "stoker_store_errors_total %llu\n"
	         "# HELP stoker_kept_results_total Requests answered with a "
	         "result that was kept.\n"
	         "# TYPE stoker_kept_results_total counter\n"
	         "stoker_kept_results_total %llu\n",
	         count_busy(c),
	         (unsigned long long)atomic_load(&c->shared->store_errors),
	         (unsigned long long)atomic_load(&c->shared->kept));
	buf_puts(out, "# HELP stoker_quota_refusals_total Requests that a "
	              "quota refused.\n"
	              "# TYPE stoker_quota_refusals_total counter\n");
	for (size_t q = 0; q < QUOTAS; q++)
		buf_addf(out,
		         "stoker_quota_refusals_total{quota=\"%s\"} %llu\n",
		         conf_quotas[q].name,
		         (unsigned long long)atomic_load(
				 &c->shared->refused[q]));
}
