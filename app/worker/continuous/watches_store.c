/*
 * Takes the answer to a cut, and stores its windows.
 */
#include "base/clock.h"
#include "base/log.h"
#include "watches_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SEGMENT_NS (60 * NS_PER_S)
#define MAX_ROWS   WORKER_MAX_CAPTURES

struct found {
	struct window_ask asks[MAX_ROWS];
	size_t n;
};

/* Logs a failure once, though every step tries again. */
static void
say(const struct watches *w, const char *what, const char *why)
{
	if (w->state != CONTINUOUS_HOST_BEHIND)
		log_warn("windows: %s%s", what, why);
}

static int
read_all(const struct watches *w, int fd, char *p, int64_t n, int64_t start)
{
	ssize_t got = pread(fd, p, (size_t)n, start);

	if (got == n)
		return 0;
	say(w, "their bytes can't be read: ",
	    got < 0 ? strerror(errno) : "they are too few");
	return -EIO;
}

static int64_t
size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_size;
}

/* Checks a row, since the analyser is not trusted. */
static bool
is_sound(const struct window_row *r, int64_t data_bytes)
{
	return memchr(r->id, '\0', ID_MAX) && r->length <= WINDOW_MAX_BYTES &&
	       r->offset <= (uint64_t)data_bytes &&
	       r->length <= (uint64_t)data_bytes - r->offset &&
	       r->duration_ms >= 0 && r->samples >= 0 && r->value >= 0 &&
	       r->quota_ms >= 0 && r->quota_ms < INT64_MAX / 2 &&
	       r->start_ms > 0 && r->start_ms < INT64_MAX / 2 &&
	       r->duration_ms < INT64_MAX / 2;
}

static int
append(struct watches *w, const struct window_row *r, struct found *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	struct window_ask *ask = &out->asks[out->n];
	struct watch *v = watches_find(w, r->id);
	char *p = buf_reserve(&bytes, (size_t)r->length + 1);
	int rc;

	if (!v) {
		w->counts.dropped++; /* the watch is gone */
		return 0;
	}
	rc = p ? read_all(w, w->data, p, (int64_t)r->length, (int64_t)r->offset)
	       : -ENOMEM;
	if (rc)
		return rc;
	watches_report_watch(w, v, CAPTURE_OK);
	*ask = (struct window_ask){
		.series = v->series,
		.level = WINDOW_CAPTURED,
		.start_ms = r->start_ms,
		.end_ms = r->start_ms + r->duration_ms,
		.duration_ms = r->duration_ms,
		.windows = 1,
		.sample_count = r->samples,
		.value = r->value,
		.quota_ms = r->quota_ms,
	};
	rc = segment_append(&w->segment, p, (size_t)r->length, ask);
	out->n += !rc;
	return rc;
}

/* Reads no more rows than there can be watches, however long the analyser made
 * their file. */
static int
append_all(struct watches *w, struct found *out)
{
	int64_t bytes = size_of(w->data);
	struct window_row r;
	int rc = 0;

	for (off_t i = 0;
	     i < MAX_ROWS && !rc &&
	     pread(w->rows, &r, sizeof(r), i * (off_t)sizeof(r)) == sizeof(r);
	     i++) {
		if (is_sound(&r, bytes))
			rc = append(w, &r, out);
		else {
			w->counts.dropped++;
			log_warn("the analyser wrote a window that can't be");
		}
	}
	return rc;
}

static int
open_segment(struct watches *w, int64_t now_ns)
{
	struct segment g = SEGMENT_INIT;
	int rc;

	if (w->segment.fd >= 0 && now_ns - w->segment_ns < SEGMENT_NS &&
	    w->segment.length < SEGMENT_MAX_BYTES)
		return 0;
	rc = segment_create(w->store, w->host, &g);
	if (rc)
		return rc;
	segment_close(&w->segment);
	w->segment = g;
	w->segment_ns = now_ns;
	return 0;
}

static int
commit(struct watches *w, const struct window_ask *asks, size_t n)
{
	size_t stored;
	int rc = window_commit(w->store, &w->segment, asks, n, &stored);

	if (rc) {
		say(w, "the database: ", store_why(w->store));
		return rc;
	}
	w->counts.stored += (int64_t)stored;
	w->counts.dropped += (int64_t)(n - stored);
	return 0;
}

static int
append_file(struct watches *w, int fd, struct window_ask *ask)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	int64_t size = size_of(fd);
	char *p;
	int rc;

	if (size > WINDOW_MAX_BYTES)
		size = 0; /* too large: the window is stored without its
		             profile */
	p = buf_reserve(&bytes, (size_t)size + 1);
	rc = p ? read_all(w, fd, p, size, 0) : -ENOMEM;
	if (rc)
		return rc;
	return segment_append(&w->segment, p, (size_t)size, ask);
}

int
watches_add(struct watches *w, struct window_ask *asks, const int *fds,
            size_t n, int64_t now_ns)
{
	int64_t length;
	int rc = open_segment(w, now_ns);

	if (rc)
		return rc;
	length = w->segment.length;
	for (size_t i = 0; i < n && !rc; i++)
		rc = append_file(w, fds[i], &asks[i]);
	if (!rc)
		rc = segment_sync(&w->segment) ?: commit(w, asks, n);
	if (rc)
		w->segment.length = length; /* the next try writes there */
	return rc;
}

int
watches_store(struct watches *w, int64_t now_ns)
{
	CLEANUP_FREE struct found *f = NULL;
	int64_t length;
	int rc;

	if (w->rows < 0)
		return 0;
	rc = open_segment(w, now_ns);
	if (rc)
		return rc;
	length = w->segment.length;
	f = calloc(1, sizeof(*f));
	rc = f ? append_all(w, f) : -ENOMEM;
	if (!rc && f->n)
		rc = segment_sync(&w->segment) ?: commit(w, f->asks, f->n);
	if (rc) {
		w->segment.length = length; /* the next try writes there */
		return rc;
	}
	close_ptr(&w->data);
	close_ptr(&w->rows);
	return 0;
}

void
watches_take(struct watches *w, const struct msg_windows *m, int data, int rows,
             int64_t now_ns)
{
	struct watch *v = memchr(m->failed, '\0', ID_MAX) && m->failed[0]
	                          ? watches_find(w, m->failed)
	                          : NULL;

	w->cut_ns = 0;
	w->counts.gaps += m->error != CAPTURE_OK;
	if (m->error)
		log_warn("windows: %s%s%s", capture_error_text(m->error),
		         v ? ": " : "", v ? v->service : "");
	if (v && m->error == CAPTURE_FINISH_DIED) {
		watches_unwatch(w, v); /* else it would make the others fail */
		v->retry_ns = now_ns + 10 * 60 * NS_PER_S;
		watches_report_watch(w, v, m->error);
	}
	if (w->rows >= 0 || data < 0 || rows < 0) {
		close_ptr(&data);
		close_ptr(&rows);
		return;
	}
	w->data = data;
	w->rows = rows;
	if (watches_store(w, now_ns))
		log_warn("windows wait to be stored");
}
