/* Keeps the last readings of counters that are read from outside. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/buckets.h"
#include "periodic_private.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert(PERIODICS_READINGS_BYTES == (int64_t)256 << 20,
               "READING_LARGE's text");

void
periodic_forget(struct periodic *v)
{
	close_ptr(&v->reading);
	v->reading_bytes = 0;
}

void
periodic_forget_old(struct periodics *t, struct periodic *v, int64_t now_ns)
{
	int64_t age = now_ns - v->read_ns;

	if (v->reading < 0 || age <= PERIODICS_RETRY_NS + 2 * v->period_ns)
		return;
	t->watches->counts.gaps += age / v->period_ns;
	periodic_forget(v);
}

static int64_t
bytes_of_all(const struct periodics *t)
{
	int64_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->items[i].reading_bytes;
	return n;
}

enum capture_error
periodic_reading(struct periodics *t, struct periodic *v, int fd,
                 int64_t now_ns)
{
	CLEANUP_FD int new = fd;
	struct stat st;

	periodic_forget(v);
	if (new < 0 || fstat(new, &st) || st.st_size <= 0)
		return CAPTURE_INTERNAL;
	if (st.st_size > (off_t)READING_MAX_BYTES ||
	    bytes_of_all(t) + st.st_size > PERIODICS_READINGS_BYTES)
		return CAPTURE_READING_LARGE;
	v->reading = TAKE_FD(new);
	v->reading_bytes = st.st_size;
	v->read_ns = now_ns;
	return CAPTURE_OK;
}

uint32_t
periodic_known_ms(const struct periodics *t, int64_t now_ns)
{
	int64_t ms = (now_ns - *t->scanned_ns) / NS_PER_MS;

	return ms < 0 ? 0 : ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

int
periodic_nobody(struct periodics *t, struct periodic *v, int64_t now_ns)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FD int fd = memfd_create("stoker-reading", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;

	buckets_nobody(type_id(type_find(v->type)),
	               periodic_known_ms(t, now_ns), &bytes);
	if (!rc)
		rc = buf_err(&bytes);
	if (!rc)
		rc = fd_write_all(fd, bytes.p, bytes.len);
	if (rc)
		return rc;
	return periodic_reading(t, v, TAKE_FD(fd), now_ns) ? -ENOMEM : 0;
}

/* --- programs that are made to count -------------------------------------- */

/* A program is kept counting for a short time, which is renewed: so counting
 * ends even if the worker dies. */
#define KEEP_MS  30000
#define AGAIN_NS (10 * NS_PER_S)

int
periodic_keep(struct periodics *t, struct periodic *v,
              const struct targets *targets)
{
	if (!v->kept)
		v->kept = calloc(1, sizeof(*v->kept));
	if (!v->kept)
		return -ENOMEM;
	targets_followed(targets, v->tenant, v->service, SESSION_ALL_ORDINALS,
	                 v->kept);
	v->kept_what = v->keep;
	return worker_may(t->watches->events, v->keep, KEEP_MS, v->kept->pids,
	                  v->kept->starts, v->kept->n);
}

void
periodic_keep_end(struct periodics *t, struct periodic *v)
{
	if (v->kept && worker_may(t->watches->events, v->kept_what, 0,
	                          v->kept->pids, v->kept->starts, v->kept->n))
		log_debug("%s: the opener takes no messages", v->service);
	if (v->kept) /* other services may need these processes to count */
		t->kept_ns = 0;
	free(v->kept);
	v->kept = NULL;
}

void
periodics_keep(struct periodics *t, const struct targets *targets,
               int64_t now_ns)
{
	if (now_ns - t->kept_ns < AGAIN_NS)
		return;
	t->kept_ns = now_ns;
	for (size_t i = 0; i < t->n; i++)
		if (t->items[i].kept && periodic_keep(t, &t->items[i], targets))
			log_debug("%s: the opener takes no messages",
			          t->items[i].service);
}
