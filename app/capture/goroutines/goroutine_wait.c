#include "goroutine_wait.h"

#include <errno.h>
#include <string.h>

/* Source: runtime/chan.go, hchan; the same from Go 1.18 to 1.27 */
enum {
	HCHAN_LEN = 0,
	HCHAN_CAP = 8,
	HCHAN_CLOSED = 28,
	HCHAN_BYTES = 32,
};

static uint64_t
word(const uint8_t *p, size_t at)
{
	uint64_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static bool
has_one_target(const struct go_runtime *r, const struct go_group *g)
{
	const char *reason = g->reason < GO_MAX_REASONS ? r->reasons[g->reason]
	                                                : "";

	return g->status != GO_SYSCALL &&
	       strncmp(reason, "select", strlen("select")) != 0;
}

/* Its sudog must say that it is this goroutine's: they are used again. */
static void
take_target(const struct go_layout *l, const struct memory_piece *p,
            struct go_member *m)
{
	if (p->got != p->len || word(p->p, 0) != m->addr)
		return;
	m->target = word(p->p, l->chan);
	if (!m->target)
		m->target = word(p->p, l->elem);
}

int
go_wait_targets(struct go_groups *s)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	CLEANUP_FREE struct memory_piece *pieces =
		calloc(GO_MAX_TARGETS, sizeof(*pieces));
	CLEANUP_FREE struct go_member **of =
		calloc(GO_MAX_TARGETS, sizeof(struct go_member *));
	struct go_member *m = (void *)s->members.p;
	size_t all = s->members.len / sizeof(*m), n = 0;
	int rc;

	if (!pieces || !of)
		return -ENOMEM;
	for (size_t i = 0; i < all && n < GO_MAX_TARGETS; i++) {
		if (!m[i].waiting ||
		    !has_one_target(s->r, &s->groups[m[i].group]))
			continue;
		of[n] = &m[i];
		pieces[n++] = (struct memory_piece){
			.addr = m[i].waiting,
			.len = s->r->layout.chan + 8u,
		};
	}
	rc = memory_read(s->r->mem, pieces, n, &b);
	for (size_t i = 0; i < n && !rc; i++)
		take_target(&s->r->layout, &pieces[i], of[i]);
	return rc;
}

int
go_wait_channels(const struct go_runtime *r, struct go_chan *c, size_t n)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	CLEANUP_FREE struct memory_piece *pieces =
		calloc(n + 1, sizeof(*pieces));
	int rc;

	if (!pieces)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct memory_piece){.addr = c[i].addr,
		                                  .len = HCHAN_BYTES};
	rc = memory_read(r->mem, pieces, n, &b);
	for (size_t i = 0; i < n && !rc; i++) {
		uint32_t closed;

		if (pieces[i].got != HCHAN_BYTES)
			continue;
		memcpy(&closed, pieces[i].p + HCHAN_CLOSED, sizeof(closed));
		c[i].len = word(pieces[i].p, HCHAN_LEN);
		c[i].cap = word(pieces[i].p, HCHAN_CAP);
		c[i].closed = closed == 1;
		c[i].known = c[i].len <= c[i].cap && closed <= 1;
	}
	return rc;
}
