#include "goroutine_labels.h"

#include "profile/goroutine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT ((size_t)8 << 10)

/* --- targets of waits ----------------------------------------------------- */

/* Source: runtime/chan.go, hchan; equal from Go 1.18 to 1.27 */
enum {
	HCHAN_LEN = 0,
	HCHAN_CAP = 8,
	HCHAN_CLOSED = 28,
	HCHAN_BYTES = 32,
};

static bool
has_one_target(const struct go_runtime *r, const struct go_group *g)
{
	const char *reason = g->reason < GO_MAX_REASONS ? r->reasons[g->reason]
	                                                : "";

	return g->status != GO_SYSCALL &&
	       strncmp(reason, "select", strlen("select")) != 0;
}

/* Sets a member's target, if the sudog still belongs to its goroutine: sudogs
 * are reused. */
static void
take_target(const struct go_layout *l, const struct memory_piece *p,
            struct go_member *m)
{
	if (p->got != p->len || memory_u64(p->p, 0) != m->addr)
		return;
	m->target = memory_u64(p->p, l->chan);
	if (!m->target)
		m->target = memory_u64(p->p, l->elem);
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
		c[i].len = memory_u64(pieces[i].p, HCHAN_LEN);
		c[i].cap = memory_u64(pieces[i].p, HCHAN_CAP);
		c[i].closed = closed == 1;
		c[i].known = c[i].len <= c[i].cap && closed <= 1;
	}
	return rc;
}

/* --- labels --------------------------------------------------------------- */

/* The labels of a row while they are collected; rc is checked once. */
struct labels {
	struct profile *p;
	struct label *out;
	uint32_t n;
	int rc;
};

static void
put_text(struct labels *l, enum goroutine_label key, uint32_t str)
{
	struct label row = {.str = str};

	if (!str || l->rc)
		return;
	l->rc = profile_cstring(l->p, goroutine_keys[key], &row.key);
	if (!l->rc)
		l->out[l->n++] = row;
}

static void
put_word(struct labels *l, enum goroutine_label key, const char *text)
{
	uint32_t str = 0;

	if (!l->rc)
		l->rc = profile_cstring(l->p, text, &str);
	put_text(l, key, str);
}

static void
put_number(struct labels *l, enum goroutine_label key, uint64_t v,
           const char *unit)
{
	struct label row = {.num = (int64_t)v};

	if (!v || l->rc)
		return;
	l->rc = profile_cstring(l->p, goroutine_keys[key], &row.key);
	if (!l->rc)
		l->rc = profile_cstring(l->p, unit, &row.unit);
	if (!l->rc)
		l->out[l->n++] = row;
}

/* --- state ---------------------------------------------------------------- */

/* Returns the state as in tracebacks. Source: runtime/traceback.go,
 * goroutineheader() */
static const char *
raw_state(const struct go_runtime *r, const struct go_group *g)
{
	static const char *const names[GO_STATUSES] = {
		[GO_IDLE] = "idle",           [GO_RUNNABLE] = "runnable",
		[GO_RUNNING] = "running",     [GO_SYSCALL] = "syscall",
		[GO_WAITING] = "waiting",     [GO_COPYSTACK] = "copystack",
		[GO_PREEMPTED] = "preempted", [GO_LEAKED] = "waiting",
	};
	bool waits = g->status == GO_WAITING || g->status == GO_LEAKED;

	if (waits && g->reason && g->reason < GO_MAX_REASONS &&
	    *r->reasons[g->reason])
		return r->reasons[g->reason];
	return names[g->status] ? names[g->status] : "";
}

static void
put_state(struct labels *l, const struct go_groups *s, const struct go_group *g,
          const uint32_t *stack, uint32_t n)
{
	const char *raw = raw_state(s->r, g);
	const char *state = goroutine_state(raw, strlen(raw));
	const char *reason = goroutine_reason(raw, strlen(raw)), *lock = NULL;

	if (!strcmp(raw, "semacquire"))
		lock = goroutine_stack_lock(l->p, stack, n);
	put_word(l, GOROUTINE_STATE, state);
	if (!strcmp(state, "waiting"))
		put_word(l, GOROUTINE_REASON,
		         lock     ? lock
		         : reason ? reason
		                  : raw);
	put_word(l, GOROUTINE_RAW, raw);
}

static void
put_target(struct labels *l, const struct go_chan *c)
{
	char text[128];

	if (!c)
		return;
	if (c->known)
		snprintf(text, sizeof(text), "0x%lx len %lu cap %lu%s",
		         (unsigned long)c->addr, (unsigned long)c->len,
		         (unsigned long)c->cap, c->closed ? " closed" : "");
	else
		snprintf(text, sizeof(text), "0x%lx", (unsigned long)c->addr);
	put_word(l, GOROUTINE_TARGET, text);
}

/* --- numbers -------------------------------------------------------------- */

static void
put_range(struct buf *out, uint64_t first, uint64_t last)
{
	if (out->len)
		buf_putc(out, ',');
	buf_addf(out, "%lu", (unsigned long)first);
	if (last > first)
		buf_addf(out, "%c%lu", last > first + 1 ? '-' : ',',
		         (unsigned long)last);
}

/* Writes "7,9-12", which ends in "..." when there is no room for all. */
static void
put_goids(struct labels *l, const struct go_row *row)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_TEXT);
	uint32_t i = 0;

	while (i < row->n && text.len < GO_MAX_GOIDS) {
		uint64_t first = row->members[i]->goid, last = first;

		while (++i < row->n && row->members[i]->goid == last + 1)
			last++;
		put_range(&text, first, last);
	}
	if (i < row->n)
		buf_puts(&text, ",...");
	put_word(l, GOROUTINE_GOIDS, buf_str(&text));
}

static uint64_t
common_parent(const struct go_row *row)
{
	for (uint32_t i = 1; i < row->n; i++)
		if (row->members[i]->parent != row->members[0]->parent)
			return 0;
	return row->members[0]->parent;
}

static void
put_numbers(struct labels *l, const struct go_row *row)
{
	put_number(l, GOROUTINE_PARENT, common_parent(row), "");
	if (row->n == 1)
		put_number(l, GOROUTINE_GOID, row->members[0]->goid, "");
	else
		put_goids(l, row);
}

/* Writes the longest and shortest wait. The runtime notes when a wait began
 * only at the next garbage collection; newer waits are not counted. */
static void
put_wait(struct labels *l, const struct go_row *row, int64_t now_ns)
{
	uint64_t longest = 0, shortest = UINT64_MAX;

	for (uint32_t i = 0; i < row->n; i++) {
		uint64_t since = row->members[i]->since, age;

		if (!since || since > (uint64_t)now_ns)
			continue;
		age = (uint64_t)now_ns - since;
		longest = age > longest ? age : longest;
		shortest = age < shortest ? age : shortest;
	}
	put_number(l, GOROUTINE_SINCE, longest, "nanoseconds");
	if (row->n > 1 && longest)
		put_number(l, GOROUTINE_SINCE_MIN, shortest, "nanoseconds");
}

/* --- labels of the program ------------------------------------------------ */

static void
put_tags(struct labels *l, const struct go_tags *tags, uint32_t set)
{
	struct label own[GO_MAX_TAGS];
	uint32_t n = go_tags_get(tags, set, own);

	for (uint32_t i = n; i-- > 0 && !l->rc;) {
		const char *key = profile_text(l->p, own[i].key);
		char renamed[64];

		if (goroutine_has_key(key)) {
			snprintf(renamed, sizeof(renamed), "label:%s", key);
			l->rc = profile_cstring(l->p, renamed, &own[i].key);
		}
		if (l->n < PROFILE_MAX_LABELS)
			l->out[l->n++] = own[i];
	}
}

int
go_labels(const struct go_groups *s, const struct go_frames *f,
          const struct go_row *row, const uint32_t *stack, uint32_t n,
          int64_t now_ns, struct label out[PROFILE_MAX_LABELS], uint32_t *nout)
{
	struct labels l = {.p = f->p, .out = out};
	const struct go_group *g = row->group;
	uint32_t creator = 0, place = 0;

	put_state(&l, s, g, stack, n);
	put_target(&l, row->target);
	if (!l.rc && row->members[0]->goid != 1)
		l.rc = go_frames_creator(f, g->gopc, &creator, &place);
	put_text(&l, GOROUTINE_CREATOR, creator);
	put_text(&l, GOROUTINE_CREATED, place);
	put_numbers(&l, row);
	put_wait(&l, row, now_ns);
	if (g->locked)
		put_word(&l, GOROUTINE_LOCKED, "yes");
	if (g->status == GO_LEAKED)
		put_word(&l, GOROUTINE_LEAKED, "yes");
	put_tags(&l, &s->tags, g->tags);
	*nout = l.n;
	return l.rc;
}
