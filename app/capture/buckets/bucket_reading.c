#include "bucket_reading.h"

#include "base/clock.h"
#include "base/hash.h"
#include "bucket_rows.h"

#include <errno.h>
#include <string.h>

/* --- writing -------------------------------------------------------------- */

void
reading_begin(struct buf *out, enum profile_type_id type, uint32_t known_ms)
{
	struct reading_head h = {
		.type = type,
		.mono_ns = clock_mono_ns(),
		.wall_ms = clock_wall_ms(),
		.cycles = bucket_cycles(),
		.known_ns = (int64_t)engine_boot_ns() - known_ms * NS_PER_MS,
	};

	buf_add(out, &h, sizeof(h));
}

static bool
is_of_memory(const struct buf *reading)
{
	const struct reading_head *h = (const void *)reading->p;

	return h->type == TYPE_alloc;
}

static uint64_t
hash_stack(const struct go_buckets *b, const struct go_bucket *one)
{
	return hash_bytes(go_bucket_stack(b, one),
	                  one->nstack * sizeof(uint64_t));
}

static void
put_row(struct buf *out, bool memory, const struct go_buckets *b, uint32_t i)
{
	const struct go_bucket *one = go_bucket(b, i);
	struct reading_row row = {.addr = b->addrs.rows[i].b,
	                          .stack = hash_stack(b, one),
	                          .count = one->allocs,
	                          .cycles = (uint64_t)one->cycles};

	if (!memory)
		memcpy(&row.count, &one->count, sizeof(row.count));
	buf_add(out, &row, sizeof(row));
}

/* Returns -EFBIG when there was no room for the process just written. */
static int
end_process(struct buf *out)
{
	int rc = buf_err(out);

	if (rc)
		return rc == -E2BIG ? -EFBIG : rc;
	((struct reading_head *)(void *)out->p)->nprocesses++;
	return out->len > READING_MAX_BYTES ? -EFBIG : 0;
}

int
reading_add(struct buf *out, int32_t pid, uint64_t began_ns,
            const struct go_buckets *b)
{
	struct reading_process p = {began_ns, pid, b->addrs.n};

	if (p.n > READING_MAX_BYTES / sizeof(struct reading_row))
		return -EFBIG;
	buf_add(out, &p, sizeof(p));
	for (uint32_t i = 0; i < p.n && !buf_err(out); i++)
		put_row(out, is_of_memory(out), b, i);
	return end_process(out);
}

int
reading_keep(struct buf *out, const struct reading_part *part)
{
	buf_add(out, part->process, sizeof(*part->process));
	buf_add(out, part->rows, part->process->n * sizeof(*part->rows));
	return end_process(out);
}

/* --- checking a reading --------------------------------------------------- */

static struct reading_part
part_at(const void *p)
{
	const struct reading_process *process = p;

	return (struct reading_part){process, (const void *)(process + 1)};
}

static const void *
end_of(const struct reading_part *part)
{
	return part->rows + part->process->n;
}

static bool
is_time(const struct reading_head *h)
{
	return h->mono_ns >= 0 && h->wall_ms >= 0 &&
	       h->wall_ms < INT64_MAX / NS_PER_MS &&
	       h->mono_ns <= clock_mono_ns();
}

int
reading_check(const void *p, size_t n, enum profile_type_id type,
              const struct reading_head **out)
{
	const struct reading_head *h = p;
	size_t at = sizeof(*h);

	if (n < at || n > READING_MAX_BYTES || h->type != type || !is_time(h))
		return -EBADMSG;
	for (uint32_t i = 0; i < h->nprocesses; i++) {
		struct reading_part part = part_at((const char *)p + at);

		if (n - at < sizeof(*part.process))
			return -EBADMSG;
		at += sizeof(*part.process);
		if ((n - at) / sizeof(*part.rows) < part.process->n)
			return -EBADMSG;
		at += part.process->n * sizeof(*part.rows);
	}
	*out = h;
	return at == n ? 0 : -EBADMSG;
}

struct reading_part
reading_part(const struct reading_head *h, uint32_t i)
{
	struct reading_part part = part_at(h + 1);

	while (i--)
		part = part_at(end_of(&part));
	return part;
}

struct reading_part
reading_find(const struct reading_head *h, int32_t pid, uint64_t began_ns)
{
	struct reading_part part = part_at(h + 1);

	for (uint32_t i = 0; i < h->nprocesses; i++) {
		if (part.process->pid == pid &&
		    part.process->began_ns == began_ns)
			return part;
		part = part_at(end_of(&part));
	}
	return (struct reading_part){NULL, NULL};
}

/* --- comparing ------------------------------------------------------------ */

static struct go_bucket
bucket_of(const struct reading_row *row)
{
	struct go_bucket b = {.allocs = row->count,
	                      .cycles = (int64_t)row->cycles};

	memcpy(&b.count, &row->count, sizeof(b.count));
	return b;
}

/* True when a count went down. A bucket has the counts of one kind; the others
 * are 0, or unused values. */
static bool
is_less(bool memory, const struct go_bucket *now, const struct go_bucket *was)
{
	return memory ? now->allocs < was->allocs
	              : !(now->count >= was->count) ||
	                        now->cycles < was->cycles;
}

static void
take_counts(struct go_bucket *to, const struct go_bucket *from)
{
	to->allocs = from->allocs;
	to->count = from->count;
	to->cycles = from->cycles;
}

/* Finds a row's bucket; NULL when it is gone, or has another stack. */
static struct go_bucket *
find_now(struct go_buckets *now, const struct reading_row *row)
{
	struct go_bucket *rows = (void *)now->rows.p;
	uint32_t i;

	/* Marked as full, the table does not add a missing address. */
	now->addrs.max = now->addrs.n;
	if (!now->addrs.n || pairs_intern(&now->addrs, 0, row->addr, &i) ||
	    hash_stack(now, &rows[i]) != row->stack)
		return NULL;
	return &rows[i];
}

static bool
is_same_program(const struct reading_part *last, struct go_buckets *now,
                bool memory)
{
	uint32_t less = 0;

	for (uint32_t i = 0; i < last->process->n; i++) {
		struct go_bucket was = bucket_of(&last->rows[i]);
		const struct go_bucket *b = find_now(now, &last->rows[i]);

		if (!b)
			return false;
		less += is_less(memory, b, &was);
	}
	return less <= (last->process->n + 1) / 2;
}

static int
add_before(struct go_buckets *before, const struct reading_row *row)
{
	struct go_bucket b = bucket_of(row);
	uint32_t n = before->addrs.n, i;
	int rc = pairs_intern(&before->addrs, 0, row->addr, &i);

	if (!rc && i < n)
		rc = -EBADMSG; /* the bucket is listed twice */
	buf_add(&before->rows, &b, sizeof(b));
	return rc ? rc : buf_err(&before->rows);
}

int
reading_compare(const struct reading_part *last, enum profile_type_id type,
                struct go_buckets *now, struct go_buckets *before, bool *same)
{
	bool memory = type == TYPE_alloc;
	int rc = 0;

	*same = is_same_program(last, now, memory);
	before->addrs.max = GO_MAX_BUCKETS;
	before->rows =
		BUF_INIT(READING_MAX_BYTES * 3); /* these rows are wider */
	for (uint32_t i = 0; *same && i < last->process->n && !rc; i++) {
		struct go_bucket was = bucket_of(&last->rows[i]);
		struct go_bucket *b = find_now(now, &last->rows[i]);

		if (is_less(memory, b, &was))
			take_counts(b, &was);
		rc = add_before(before, &last->rows[i]);
	}
	return rc;
}
