#include "goroutine_read.h"

#include "base/buf.h"
#include "goroutine_threads.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 20) /* of stacks at once */
#define MAX_PENDING ((size_t)GO_MAX_GOROUTINES * sizeof(uint64_t))

/* Bytes read of each stack, by round: deeper stacks, and goroutines that moved,
 * are left to the next round. */
static const uint32_t rooms[] = {
	4 << 10,  64 << 10, 64 << 10, 64 << 10,
	1u << 20, 1u << 20, 1u << 20, 1u << 20,
};

/* Some goroutines, between two reads of their structs. */
struct chunk {
	uint32_t room;
	bool last; /* the last round: missing stacks stay empty */
	size_t n;
	struct go_g *g;
	struct memory_piece *heads, *stacks; /* of each goroutine */
	struct memory_batch kept;            /* memory of the stacks */
	struct go_threads threads;
};

struct reader {
	struct go_runtime *r;
	const struct go_sink *sink;
	struct go_read_stats *stats;
	struct go_stack *stack;
	struct buf pending; /* addresses for the next round */
};

static void
chunk_done(struct chunk *c)
{
	memory_batch_done(&c->kept);
	go_threads_done(&c->threads);
	free(c->g);
	free(c->heads);
	free(c->stacks);
}

static int
chunk_init(struct chunk *c, size_t n)
{
	c->g = calloc(n, sizeof(*c->g));
	c->heads = calloc(n, sizeof(*c->heads));
	c->stacks = calloc(n, sizeof(*c->stacks));
	return c->g && c->heads && c->stacks ? 0 : -ENOMEM;
}

/* --- structs -------------------------------------------------------------- */

/* Reads the structs at addrs and keeps those of live goroutines. */
static int
read_heads(struct reader *d, struct chunk *c, const uint64_t *addrs, size_t n)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	const struct go_layout *l = &d->r->layout;
	int rc;

	for (size_t i = 0; i < n; i++)
		c->heads[i] =
			(struct memory_piece){.addr = addrs[i], .len = l->size};
	rc = memory_read(d->r->mem, c->heads, n, &b);
	for (size_t i = 0; i < n && !rc; i++) {
		const struct memory_piece *p = &c->heads[i];
		struct go_g *g = &c->g[c->n];

		if (p->got == l->size && go_g_read(l, p->p, p->addr, g) &&
		    go_g_lives(g))
			c->n++;
	}
	return rc;
}

/* Reads the structs again, to find goroutines that ran meanwhile: they have
 * moved or ended. */
static int
mark_moved(const struct reader *d, struct chunk *c)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	const struct go_layout *l = &d->r->layout;
	int rc;

	for (size_t i = 0; i < c->n; i++)
		c->heads[i] = (struct memory_piece){.addr = c->g[i].addr,
		                                    .len = l->size};
	rc = memory_read(d->r->mem, c->heads, c->n, &b);
	for (size_t i = 0; i < c->n && !rc; i++) {
		const struct memory_piece *p = &c->heads[i];
		struct go_g now;

		if (p->got != l->size || !go_g_read(l, p->p, p->addr, &now) ||
		    !go_g_same(&c->g[i], &now))
			c->stacks[i].got = 0;
	}
	return rc;
}

/* --- stacks --------------------------------------------------------------- */

static bool
has_place(const struct go_g *g)
{
	return g->sp >= g->lo && g->sp < g->hi && g->status != GO_COPYSTACK;
}

static int
read_stacks(struct reader *d, struct chunk *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct go_g *g = &c->g[i];
		uint64_t len = has_place(g) ? g->hi - g->sp : 0;

		c->stacks[i] = (struct memory_piece){
			.addr = g->sp,
			.len = len < c->room ? (uint32_t)len : c->room,
		};
	}
	return memory_read(d->r->mem, c->stacks, c->n, &c->kept);
}

/* Walks the stack of a goroutine. For a running goroutine, the walk begins at
 * the registers of its thread, unless the thread is on another stack: then it
 * begins where the goroutine left its stack. */
static void
walk(struct reader *d, const struct chunk *c, size_t i)
{
	struct go_g *g = &c->g[i];
	bool runs = g->status == GO_RUNNING;
	struct go_place at = {
		.pc = g->pc,
		.sp = g->sp,
		.hi = g->hi,
		.stack = c->stacks[i].p,
		.len = c->stacks[i].got,
	};

	d->stack->n = 0;
	d->stack->end = GO_END_LOST;
	if ((runs || !at.len) && go_threads_place(&c->threads, g, &at))
		g->status = GO_RUNNING;
	else if (!at.len || (runs && c->room == rooms[0]))
		return;
	go_walk(d->r, &at, d->stack);
}

static int
report(struct reader *d, const struct chunk *c, size_t i)
{
	bool was_running = c->g[i].status == GO_RUNNING;
	enum go_end end;

	walk(d, c, i);
	end = d->stack->end;
	if (end == GO_END_TOP || end == GO_END_MAX || c->last)
		return d->sink->one(d->sink->arg, &c->g[i], d->stack);
	d->stats->retried += end == GO_END_LOST && !was_running;
	buf_add(&d->pending, &c->g[i].addr, sizeof(c->g[i].addr));
	return buf_err(&d->pending);
}

/* --- rounds --------------------------------------------------------------- */

static int
read_chunk(struct reader *d, struct chunk *c, const uint64_t *addrs, size_t n)
{
	int rc = chunk_init(c, n);

	if (!rc)
		rc = read_heads(d, c, addrs, n);
	if (!rc)
		rc = read_stacks(d, c);
	/* Nearly all goroutines wait; the running ones are left to the second
	 * round. */
	if (!rc && c->room > rooms[0])
		rc = go_threads_read(&c->threads, d->r, c->g, c->n, c->room,
		                     d->stats);
	if (!rc)
		rc = mark_moved(d, c);
	if (!rc)
		rc = d->sink->batch(d->sink->arg, c->g, c->n);
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = report(d, c, i);
	return rc;
}

static int
read_round(struct reader *d, size_t round, const uint64_t *addrs, size_t n)
{
	size_t most = CHUNK_BYTES / rooms[round];
	int rc = 0;

	while (n && !rc) {
		size_t some = n < most ? n : most;
		CLEANUP(chunk_done)
		struct chunk c = {
			.room = rooms[round],
			.last = round == ARRAY_LEN(rooms) - 1,
		};

		rc = read_chunk(d, &c, addrs, some);
		addrs += some;
		n -= some;
	}
	return rc;
}

static int
read_pending(struct reader *d, size_t round)
{
	CLEANUP_BUF struct buf mine = d->pending;

	d->pending = BUF_INIT(MAX_PENDING);
	return read_round(d, round, (const void *)mine.p,
	                  mine.len / sizeof(uint64_t));
}

/* Reads the addresses of all structs, alive or not. */
static int
read_list(const struct go_runtime *r, uint64_t **out)
{
	CLEANUP_FREE uint64_t *list = calloc(r->entries, sizeof(*list));
	int rc;

	if (!list)
		return -ENOMEM;
	rc = memory_copy(r->mem, r->list, list, r->entries * sizeof(*list));
	if (!rc)
		*out = TAKE(list);
	return rc;
}

int
go_read(struct go_runtime *r, const struct go_sink *sink,
        struct go_read_stats *stats)
{
	CLEANUP_FREE struct go_stack *stack = calloc(1, sizeof(*stack));
	CLEANUP_FREE uint64_t *list = NULL;
	struct reader d = {.r = r,
	                   .sink = sink,
	                   .stats = stats,
	                   .stack = stack,
	                   .pending = BUF_INIT(MAX_PENDING)};
	int rc = stack ? go_runtime_list(r) : -ENOMEM;

	if (!rc)
		rc = read_list(r, &list);
	if (!rc)
		rc = read_round(&d, 0, list, r->entries);
	for (size_t i = 1; i < ARRAY_LEN(rooms) && !rc && d.pending.len; i++)
		rc = read_pending(&d, i);
	buf_done(&d.pending);
	return rc;
}
