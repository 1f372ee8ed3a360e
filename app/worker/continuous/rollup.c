#include "rollup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define STEP_NS    (5 * NS_PER_S)
#define OVERDUE_NS (120 * NS_PER_S)
/* How late windows of a minute may arrive. */
#define LAG_MS (30 * MS_PER_S)
/* Age of a minute beyond which its shares are not reported. */
#define NEWS_MS (5 * 60 * MS_PER_S)
/* Fewest samples of a minute from which shares are computed. */
#define MIN_SAMPLES 20
/* Most bytes in one batch; the rest follows in the next. */
#define BATCH_BYTES ((int64_t)64 << 20)

/* A batch of one level; groups are in the order of the answer's rows. */
struct batch {
	enum window_level level;
	size_t n;
	struct batch_group {
		int64_t start_ms;
		struct window_list children;
		size_t nfunctions;
		char asked[ROLLUP_MAX_FUNCTIONS][ID_MAX];
	} groups[ROLLUP_MAX_GROUPS];
};

static void
batch_free(struct batch *b)
{
	for (size_t i = 0; b && i < b->n; i++)
		window_list_done(&b->groups[i].children);
	free(b);
}
DEFINE_CLEANUP(struct batch *, batch_free)

void
rollup_done(struct rollup *r)
{
	batch_free(r->batch);
	*r = (struct rollup)ROLLUP_INIT;
}

static void
forget(struct rollup *r)
{
	batch_free(r->batch);
	r->batch = NULL;
	r->sent_ns = 0;
}

void
rollup_analyser(struct rollup *r, int socket)
{
	r->analyser = socket;
	forget(r);
}

/* --- what is due ---------------------------------------------------------- */

static int
write_piece(struct rollup *r, const struct window *w, uint32_t group, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	struct rollup_piece piece = {.group = group};
	int rc;

	if (!w->length)
		return 0; /* no samples */
	rc = window_read(r->store, w, &bytes);
	if (rc == -EBADMSG || rc == -ENOENT) {
		log_warn("%s: its bytes are gone or damaged", w->id);
		return 0;
	}
	piece.length = (uint32_t)bytes.len;
	return rc ? rc
	          : fd_write_all(fd, &piece, sizeof(piece))
	                    ?: fd_write_all(fd, bytes.p, bytes.len);
}

/* Asks for the shares of functions, but only in recent minutes. */
static int
write_functions(struct rollup *r, struct batch *b, const struct ripe *due,
                int fd)
{
	struct batch_group *g = &b->groups[b->n - 1];
	const char *names[ROLLUP_MAX_FUNCTIONS];
	int rc = 0;

	if (b->level != WINDOW_MINUTE || !r->asker.functions ||
	    due->start_ms < r->wall_ms - NEWS_MS)
		return 0;
	g->nfunctions =
		r->asker.functions(r->asker.arg, due->series, names, g->asked);
	for (size_t i = 0; i < g->nfunctions && !rc; i++) {
		struct rollup_piece piece = {(uint32_t)(b->n - 1),
		                             (uint32_t)strlen(names[i]), 1};

		rc = fd_write_all(fd, &piece, sizeof(piece))
		             ?: fd_write_all(fd, names[i], piece.length);
	}
	return rc;
}

static int
add_group(struct rollup *r, struct batch *b, const struct ripe *due, int fd,
          int64_t *bytes)
{
	struct batch_group *g = &b->groups[b->n];
	int rc = window_children(r->store, due, b->level, &g->children);

	if (rc)
		return rc;
	g->start_ms = due->start_ms;
	b->n++;
	for (size_t i = 0; i < g->children.n && !rc; i++) {
		rc = write_piece(r, &g->children.items[i], (uint32_t)(b->n - 1),
		                 fd);
		*bytes += g->children.items[i].length;
	}
	return rc ? rc : write_functions(r, b, due, fd);
}

/* Fills a batch; -ENOENT when nothing of this level is due. */
static int
fill(struct rollup *r, struct batch *b, int fd, int64_t *bytes)
{
	CLEANUP_RIPE struct ripe_list due = {0};
	int rc = window_ripe(r->store, b->level, r->wall_ms - LAG_MS,
	                     ROLLUP_MAX_GROUPS, &due);

	if (rc)
		return rc;
	for (size_t i = 0; i < due.n && !rc && *bytes < BATCH_BYTES; i++)
		rc = add_group(r, b, &due.items[i], fd, bytes);
	return rc ? rc : b->n ? 0 : -ENOENT;
}

static int
send_batch(struct rollup *r, int fd)
{
	struct msg_capture m = {.type = MSG_ROLLUP};

	return msg_send(r->analyser, &m, sizeof(m), &fd, 1);
}

static void store_batch(struct rollup *r, int data, int rows);

/* Sends a batch of one level; -ENOENT when nothing is due. */
static int
roll(struct rollup *r, enum window_level level, int64_t now_ns)
{
	CLEANUP(batch_free_ptr) struct batch *b = calloc(1, sizeof(*b));
	CLEANUP_FD int fd = memfd_create("stoker-rollup", MFD_CLOEXEC);
	int64_t bytes = 0;
	int rc;

	if (!b || fd < 0)
		return -ENOMEM;
	b->level = level;
	rc = fill(r, b, fd, &bytes);
	if (rc)
		return rc;
	r->batch = TAKE(b);
	if (!bytes) { /* no samples, so no sums */
		store_batch(r, -1, -1);
		return 0;
	}
	rc = send_batch(r, fd);
	if (rc)
		forget(r);
	else
		r->sent_ns = now_ns;
	return rc;
}

void
rollup_step(struct rollup *r, int64_t now_ns, int64_t wall_ms)
{
	int rc = -ENOENT;

	r->wall_ms = wall_ms;
	if (r->sent_ns && now_ns - r->sent_ns > OVERDUE_NS)
		forget(r);
	if (r->analyser < 0 || r->sent_ns || now_ns < r->next_ns)
		return;
	for (int level = WINDOW_MINUTE; level <= WINDOW_DAY && rc == -ENOENT;
	     level++)
		rc = roll(r, (enum window_level)level, now_ns);
	if (rc)
		r->next_ns = now_ns + STEP_NS;
	if (rc && rc != -ENOENT)
		log_warn("rollups: %s", strerror(-rc));
}

/* --- results -------------------------------------------------------------- */

static struct window_ask
sum_of(const struct batch *b, const struct batch_group *g)
{
	return window_sum(b->level, g->start_ms, &g->children);
}

static int
copy_sum(struct segment *to, const struct rollup_row *row, int data,
         struct window_ask *w)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	char *p;

	if (row->failed) /* it would fail again, and must not hold up
	                    others */
		log_warn("windows of %s can't be added up", w->series);
	if (row->length > (uint64_t)WINDOW_MAX_BYTES ||
	    row->offset > INT64_MAX / 2)
		return -EBADMSG;
	p = buf_reserve(&bytes, (size_t)row->length + 1);
	if (!p)
		return -ENOMEM;
	if (row->length && pread(data, p, (size_t)row->length,
	                         (off_t)row->offset) != (ssize_t)row->length)
		return -EBADMSG;
	return segment_append(to, p, (size_t)row->length, w);
}

/* Reads the row of each group that has one, and no more rows than there are
 * groups, however long the analyser made their file. */
static void
read_rows(int fd, struct rollup_row out[static ROLLUP_MAX_GROUPS])
{
	struct rollup_row row;

	for (off_t i = 0; i < ROLLUP_MAX_GROUPS &&
	                  pread(fd, &row, sizeof(row),
	                        i * (off_t)sizeof(row)) == sizeof(row);
	     i++)
		if (row.group < ROLLUP_MAX_GROUPS)
			out[row.group] = row;
}

/* Stores sums: the segment is synced once, then each rollup is a transaction,
 * so that a stale one does not block the others. */
static int
store_sums(struct rollup *r, struct segment *to, const struct rollup_row *rows,
           int data)
{
	struct window_ask asks[ROLLUP_MAX_GROUPS];
	const struct batch *b = r->batch;
	int rc = 0;

	for (size_t i = 0; i < b->n && !rc; i++) {
		asks[i] = sum_of(b, &b->groups[i]);
		rc = copy_sum(to, &rows[i], data, &asks[i]);
	}
	if (!rc)
		rc = segment_sync(to) ?: store_begin(r->store);
	if (rc)
		return rc;
	for (size_t i = 0; i < b->n && !rc; i++) {
		if (asks[i].sample_count && !asks[i].length && !rows[i].failed)
			continue; /* the analyser did not reach it */
		rc = window_rollup(r->store, to, &asks[i],
		                   &b->groups[i].children);
	}
	return store_end(r->store, rc);
}

static void
tell_shares(struct rollup *r, const struct rollup_row *rows)
{
	for (size_t i = 0; i < r->batch->n; i++) {
		const struct batch_group *g = &r->batch->groups[i];
		struct rollup_share s = {
			.start_ms = g->start_ms,
			.samples = sum_of(r->batch, g).sample_count,
		};

		if (s.samples < MIN_SAMPLES || !rows[i].length)
			continue;
		for (size_t k = 0; k < g->nfunctions; k++) {
			s.percent = rows[i].shares[k];
			if (s.percent >= 0 && s.percent <= 100)
				r->asker.share(r->asker.arg, g->asked[k], &s);
		}
	}
}

/* Logs why sums could not be stored, for instance on a full disk, unless the
 * reason is the last one. They will be made again. */
static void
note_stored(struct rollup *r, int rc)
{
	if (rc && rc != r->stored)
		log_warn("rollups are made again: %s", strerror(-rc));
	if (rc)
		r->next_ns = clock_mono_ns() + STEP_NS;
	r->stored = rc;
}

static void
store_batch(struct rollup *r, int data, int rows_fd)
{
	CLEANUP_SEGMENT struct segment to = SEGMENT_INIT;
	struct rollup_row rows[ROLLUP_MAX_GROUPS] = {{0}};
	int rc = segment_create(r->store, r->host, &to);

	read_rows(rows_fd, rows);
	if (!rc)
		rc = store_sums(r, &to, rows, data);
	if (!rc)
		tell_shares(r, rows);
	note_stored(r, rc);
	forget(r);
}

void
rollup_take(struct rollup *r, const struct msg_rolled *m, int data, int rows)
{
	if (m->error) {
		log_warn("rollups: %s", capture_error_text(m->error));
		r->next_ns = clock_mono_ns() + STEP_NS;
	}
	if (r->batch && data >= 0 && rows >= 0)
		store_batch(r, data, rows);
	else
		forget(r);
	close_ptr(&data);
	close_ptr(&rows);
}
