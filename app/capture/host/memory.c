#include "memory.h"

#include "capture/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Largest gap between two pieces that are read as one, since a piece costs as
 * much as copying this many bytes. */
#define MAX_GAP   1024
#define MAX_RANGE ((uint32_t)1 << 20) /* bytes; of joined pieces */

/* One question: ranges, and the pieces in them. */
struct question {
	struct memory_range *rows;
	uint32_t n;
	size_t bytes;   /* of the answer's data */
	size_t first;   /* index in order[] of the first piece, */
	size_t npieces; /* and number of pieces */
};

static void
question_done(struct question *q)
{
	free(q->rows);
}

/* --- files ---------------------------------------------------------------- */

static void
file_done(struct memory_file *f)
{
	if (f->map)
		munmap(f->map, f->size);
	close_ptr(&f->fd);
}

void
memory_spare_done(struct memory_spare *s)
{
	while (s->n)
		file_done(&s->files[--s->n]);
}

void
memory_batch_done(struct memory_batch *b)
{
	while (b->n) {
		struct memory_file *f = &b->files[--b->n];

		if (b->spare && b->spare->n < MEMORY_MAX_SPARE)
			b->spare->files[b->spare->n++] = *f;
		else
			file_done(f);
	}
}

/* Enlarges a file and its mapping; does not shrink them, since a new page costs
 * more than the bytes that are copied into it. */
static int
file_grow(struct memory_file *f, size_t size)
{
	void *map;

	if (size <= f->size)
		return 0;
	if (ftruncate(f->fd, (off_t)size))
		return -errno;
	map = f->map ? mremap(f->map, f->size, size, MREMAP_MAYMOVE)
	             : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
	                    f->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	f->map = map;
	f->size = size;
	return 0;
}

/* Adds a file with room for size bytes to the batch. */
static int
add_file(const struct memory *m, struct memory_batch *b, size_t size)
{
	struct memory_file f = {.fd = -1};
	int rc;

	if (b->n == MEMORY_MAX_FILES)
		return -E2BIG;
	if (m->spare && m->spare->n)
		f = m->spare->files[--m->spare->n];
	else
		f.fd = memfd_create("stoker-ranges", MFD_CLOEXEC);
	if (f.fd < 0)
		return -errno;
	rc = file_grow(&f, size);
	if (rc) {
		file_done(&f);
		return rc;
	}
	b->spare = m->spare;
	b->files[b->n++] = f;
	return 0;
}

/* --- order ---------------------------------------------------------------- */

static int
by_address(const void *a, const void *b)
{
	const struct memory_piece *x = *(struct memory_piece *const *)a;
	const struct memory_piece *y = *(struct memory_piece *const *)b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Sorts the pieces that have bytes by address, and returns their number. */
static size_t
sort_pieces(struct memory_piece *pieces, size_t n, struct memory_piece **out)
{
	size_t count = 0;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		pieces[i].p = NULL;
		pieces[i].got = 0;
		if (!pieces[i].len)
			continue;
		if (count && pieces[i].addr < out[count - 1]->addr)
			sorted = false;
		out[count++] = &pieces[i];
	}
	if (!sorted)
		qsort(out, count, sizeof(struct memory_piece *), by_address);
	return count;
}

/* --- questions ------------------------------------------------------------ */

/* Adds a piece to the last range, if it is near enough. */
static bool
join(struct question *q, const struct memory_piece *p)
{
	struct memory_range *r = q->n ? &q->rows[q->n - 1] : NULL;
	uint64_t end, grown;

	if (!r || p->addr + p->len < p->addr)
		return false;
	end = p->addr + p->len;
	if (p->addr - r->addr > (uint64_t)r->len + MAX_GAP)
		return false;
	grown = end - r->addr;
	if (grown <= r->len)
		return true;
	if (grown > MAX_RANGE)
		return false;
	q->bytes -= r->len;
	r->len = (uint32_t)grown;
	q->bytes += r->len;
	return true;
}

/* Adds a piece to the question; false when the question is full. */
static bool
add_piece(struct question *q, const struct memory_piece *p)
{
	struct memory_range row = {p->addr, p->len, 0};

	/* Joining may add up to MAX_RANGE bytes. */
	if (q->n == RANGES_MAX ||
	    q->bytes + row.len + MAX_RANGE > RANGES_MAX_BYTES)
		return false;
	if (!join(q, p)) {
		q->rows[q->n++] = row;
		q->bytes += row.len;
	}
	q->npieces++;
	return true;
}

static int
ask(const struct memory *m, const struct question *q, struct memory_batch *b)
{
	struct host_ask what = {
		.op = HOST_RANGES, .pid = m->pid, .count = q->n};
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 1;
	int rc = add_file(m, b, range_data_at(q->n) + q->bytes);

	if (rc)
		return rc;
	memcpy(b->files[b->n - 1].map, q->rows, q->n * sizeof(*q->rows));
	fds[0] = b->files[b->n - 1].fd;
	rc = m->host->ask(m->host->arg, &what, &reply, fds, &nfds);
	if (rc)
		return rc;
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return reply.error;
}

/* Points the pieces of a question at their bytes in the answer. */
static void
hand_out(const struct question *q, const struct memory_batch *b,
         struct memory_piece *const *order)
{
	const char *map = b->files[b->n - 1].map;
	const struct memory_range *said = (const void *)map;
	const char *data = map + range_data_at(q->n);
	uint32_t r = 0;

	for (size_t i = 0; i < q->npieces; i++) {
		struct memory_piece *p = order[q->first + i];
		const struct memory_range *mine = &q->rows[r];
		uint64_t off;
		uint32_t got;

		while (p->addr - mine->addr > mine->len ||
		       p->addr - mine->addr + p->len > mine->len) {
			data += mine->len;
			mine = &q->rows[++r];
		}
		off = p->addr - mine->addr;
		got = said[r].got < mine->len ? said[r].got : mine->len;
		p->p = (const uint8_t *)data + off;
		p->got = got > off ? (uint32_t)(got - off) : 0;
		if (p->got > p->len)
			p->got = p->len;
	}
}

int
memory_read(const struct memory *m, struct memory_piece *pieces, size_t n,
            struct memory_batch *batch)
{
	CLEANUP_FREE struct memory_piece **order =
		calloc(n + 1, sizeof(struct memory_piece *));
	size_t rows = n < RANGES_MAX ? n : RANGES_MAX;
	CLEANUP(question_done)
	struct question q = {.rows = calloc(rows + 1, sizeof(*q.rows))};
	size_t count, at = 0;
	int rc = 0;

	if (!order || !q.rows)
		return -ENOMEM;
	count = sort_pieces(pieces, n, order);
	while (at < count && !rc) {
		q.n = 0;
		q.bytes = q.npieces = 0;
		q.first = at;
		while (at < count && add_piece(&q, order[at]))
			at++;
		if (!q.n)
			return -E2BIG;
		rc = ask(m, &q, batch);
		if (!rc)
			hand_out(&q, batch, order);
	}
	return rc;
}

uint64_t
memory_word(const struct memory_piece *p, size_t at)
{
	return at + sizeof(uint64_t) <= p->got ? memory_u64(p->p, at) : 0;
}

static int
copy_now(const struct memory *m, uint64_t addr, void *out, size_t len)
{
	CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
	struct memory_piece piece = {.addr = addr, .len = (uint32_t)len};
	int rc = memory_read(m, &piece, 1, &batch);

	if (rc)
		return rc;
	if (piece.got != len)
		return -EFAULT;
	memcpy(out, piece.p, len);
	return 0;
}

int
memory_copy(const struct memory *m, uint64_t addr, void *out, size_t len)
{
	const uint64_t at = addr & ~(uint64_t)(MEMORY_PAGE - 1);
	struct memory_pages *pages = m->spare ? m->spare->pages : NULL;
	struct memory_page *page;

	if (!pages || !at || addr - at + len > MEMORY_PAGE)
		return copy_now(m, addr, out, len);
	page = &pages->rows[at / MEMORY_PAGE % MEMORY_PAGES];
	if (page->at != at) {
		page->error =
			pages->read++ < MEMORY_MAX_PAGES
				? copy_now(m, at, page->bytes, MEMORY_PAGE)
				: -E2BIG;
		page->at = at;
	}
	if (page->error)
		return page->error;
	memcpy(out, page->bytes + (addr - at), len);
	return 0;
}
