#include "rollup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define STEP_NS    (5 * NS_PER_S)
#define OVERDUE_NS (120 * NS_PER_S)
/* Age of a minute beyond which its shares are not reported. */
#define NEWS_MS (5 * 60 * MS_PER_S)
/* Fewest samples of a minute from which shares are computed. */
#define MIN_SAMPLES 20

_Static_assert(ROLLUP_MAX_GROUPS >= BATCH_MAX, "a batch fits into a message");

/* The batch that the analyser adds up. */
struct rolling {
	struct batch *batch;
	struct rolling_group {
		bool has_profiles;
		size_t nfunctions;
		char asked[ROLLUP_MAX_FUNCTIONS][ID_MAX];
	} groups[BATCH_MAX];
};

static void
rolling_free(struct rolling *p)
{
	if (p)
		batch_free(p->batch);
	free(p);
}
DEFINE_CLEANUP(struct rolling *, rolling_free)

void
rollup_done(struct rollup *r)
{
	rolling_free(r->rolling);
	*r = (struct rollup)ROLLUP_INIT;
}

static void
forget(struct rollup *r)
{
	rolling_free(r->rolling);
	r->rolling = NULL;
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
write_piece(int fd, const struct rollup_piece *piece, const void *bytes)
{
	return fd_write_all(fd, piece, sizeof(*piece))
	               ?: fd_write_all(fd, bytes, piece->length);
}

static int
write_profile(struct rollup *r, struct rolling *p, uint32_t group, size_t i,
              int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT((size_t)WINDOW_MAX_BYTES + 1);
	struct batch_group *g = &p->batch->groups[group];
	struct rollup_piece piece = {.group = group, .parts = g->has_parts};
	int rc = batch_profile(r->store, &g->windows, i, &bytes);

	if (rc || !bytes.len)
		return rc;
	p->groups[group].has_profiles = true;
	piece.length = (uint32_t)bytes.len;
	return write_piece(fd, &piece, bytes.p);
}

/* Asks for the shares of functions, but only in recent minutes. */
static int
write_functions(struct rollup *r, struct rolling *p, uint32_t group, int fd)
{
	struct rolling_group *g = &p->groups[group];
	const struct window_ask *sum = &p->batch->groups[group].sum;
	const char *names[ROLLUP_MAX_FUNCTIONS];
	int rc = 0;

	if (sum->level != WINDOW_MINUTE || !r->asker.functions ||
	    sum->start_ms < r->wall_ms - NEWS_MS)
		return 0;
	g->nfunctions =
		r->asker.functions(r->asker.arg, sum->series, names, g->asked);
	for (size_t i = 0; i < g->nfunctions && !rc; i++) {
		struct rollup_piece piece = {group, (uint32_t)strlen(names[i]),
		                             1, 0};

		rc = write_piece(fd, &piece, names[i]);
	}
	return rc;
}

static int
write_groups(struct rollup *r, struct rolling *p, int fd)
{
	int rc = 0;

	for (uint32_t k = 0; k < p->batch->n && !rc; k++) {
		size_t n = p->batch->groups[k].windows.n;

		for (size_t i = 0; i < n && !rc; i++)
			rc = write_profile(r, p, k, i, fd);
		if (!rc)
			rc = write_functions(r, p, k, fd);
	}
	return rc;
}

static int
send_batch(struct rollup *r, int fd)
{
	struct msg_capture m = {.type = MSG_ROLLUP};

	return msg_send(r->analyser, &m, sizeof(m), &fd, 1);
}

static void store_batch(struct rollup *r, int data, int rows, bool died);

static bool
has_profiles(const struct rolling *p)
{
	for (size_t i = 0; i < p->batch->n; i++)
		if (p->groups[i].has_profiles)
			return true;
	return false;
}

/* Sends a batch; -ENOENT when nothing is due. */
static int
roll(struct rollup *r, int64_t now_ns)
{
	CLEANUP(rolling_free_ptr) struct rolling *p = calloc(1, sizeof(*p));
	CLEANUP_FD int fd = memfd_create("stoker-rollup", MFD_CLOEXEC);
	int rc;

	if (!p || fd < 0)
		return -ENOMEM;
	rc = batch_next(r->store, r->wall_ms, &p->batch)
	             ?: write_groups(r, p, fd);
	if (rc)
		return rc;
	r->rolling = TAKE(p);
	if (!has_profiles(r->rolling)) {
		store_batch(r, -1, -1, false);
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
	int rc;

	r->wall_ms = wall_ms;
	if (r->sent_ns && now_ns - r->sent_ns > OVERDUE_NS)
		forget(r);
	if (r->analyser < 0 || r->sent_ns || now_ns < r->next_ns)
		return;
	rc = roll(r, now_ns);
	if (rc)
		r->next_ns = now_ns + STEP_NS;
	if (rc && rc != -ENOENT)
		log_warn("rollups: %s", strerror(-rc));
}

/* --- results -------------------------------------------------------------- */

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

struct answer {
	const struct rollup *r;
	const struct rollup_row *rows;
	int data;
};

static int
answered_sum(void *arg, size_t group, struct buf *out)
{
	const struct answer *a = arg;
	const struct rollup_row *row = &a->rows[group];
	char *p;

	if (row->failed || row->length > (uint64_t)WINDOW_MAX_BYTES ||
	    row->offset > INT64_MAX / 2)
		return -EBADMSG;
	if (!row->length && a->r->rolling->groups[group].has_profiles)
		return -EAGAIN;
	if (!row->length)
		return 0;
	p = buf_reserve(out, (size_t)row->length);
	if (!p)
		return -ENOMEM;
	if (pread(a->data, p, (size_t)row->length, (off_t)row->offset) !=
	    (ssize_t)row->length)
		return -EBADMSG;
	out->len += (size_t)row->length;
	return 0;
}

static void
report_shares(struct rollup *r, const struct rollup_row *rows)
{
	for (size_t i = 0; i < r->rolling->batch->n; i++) {
		const struct rolling_group *g = &r->rolling->groups[i];
		const struct window_ask *sum =
			&r->rolling->batch->groups[i].sum;
		struct rollup_share s = {
			.start_ms = sum->start_ms,
			.samples = sum->sample_count,
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
 * last failure had the same reason. The sums will be made again. */
static void
note_stored(struct rollup *r, int rc)
{
	if (rc && rc != r->stored)
		log_warn("rollups are made again: %s", strerror(-rc));
	if (rc)
		r->next_ns = clock_mono_ns() + STEP_NS;
	r->stored = rc;
}

/* Counts a process's death at the first sum that it did not write, and marks
 * that sum as failed if others have died there. */
static void
note_death(struct rollup *r, struct rollup_row *rows)
{
	const struct rolling *p = r->rolling;
	const struct window_ask *sum;
	size_t i = 0;

	while (i < p->batch->n &&
	       (!p->groups[i].has_profiles || rows[i].length || rows[i].failed))
		i++;
	if (i == p->batch->n)
		return;
	sum = &p->batch->groups[i].sum;
	if (strcmp(sum->series, r->deadly.series) != 0 ||
	    sum->level != r->deadly.level ||
	    sum->start_ms != r->deadly.start_ms)
		r->deadly.deaths = 0;
	snprintf(r->deadly.series, sizeof(r->deadly.series), "%s", sum->series);
	r->deadly.level = sum->level;
	r->deadly.start_ms = sum->start_ms;
	if (++r->deadly.deaths < ROLLUP_ATTEMPTS)
		return;
	rows[i].failed = 1;
	r->given_up++;
}

static void
store_batch(struct rollup *r, int data, int rows_fd, bool died)
{
	struct rollup_row rows[ROLLUP_MAX_GROUPS] = {{0}};
	struct answer a = {r, rows, data};
	int rc;

	read_rows(rows_fd, rows);
	if (died)
		note_death(r, rows);
	rc = batch_store(r->store, r->rolling->batch, answered_sum, &a);
	if (!rc)
		report_shares(r, rows);
	note_stored(r, rc);
	forget(r);
}

void
rollup_take(struct rollup *r, const struct msg_batch *m, int data, int rows)
{
	if (m->error) {
		log_warn("rollups: %s",
		         m->error == CAPTURE_FINISH_DIED
		                 ? "the process that adds up died"
		                 : capture_error_text(m->error));
		r->next_ns = clock_mono_ns() + STEP_NS;
	}
	if (r->rolling && data >= 0 && rows >= 0)
		store_batch(r, data, rows, m->error == CAPTURE_FINISH_DIED);
	else
		forget(r);
	close_ptr(&data);
	close_ptr(&rows);
}
