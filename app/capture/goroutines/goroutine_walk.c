#include "goroutine_walk.h"

#include <string.h>

/* The walk's own state: where the frame at hand is, and what it returns to. */
struct walk {
	const struct go_runtime *r;
	const struct go_place *at;
	uint64_t pc, sp;
	bool exact;
};

static enum go_end
beyond(const struct walk *w, uint64_t slot)
{
	return slot >= w->sp && slot < w->at->hi ? GO_END_MORE : GO_END_LOST;
}

/* Called by force, in the middle of anything: what it returns to is exact. */
static bool
is_injected(const struct gobin_frame *f)
{
	return f->func == GOBIN_SIGPANIC || f->func == GOBIN_ASYNC_PREEMPT;
}

/* On to the caller; false: *end says why not. */
static bool
step(struct walk *w, const struct gobin_frame *f, enum go_end *end)
{
	uint64_t slot = w->sp + (uint64_t)(int64_t)f->sp_delta;
	uint64_t off = slot - w->at->sp;

	if (off > w->at->len || w->at->len - off < sizeof(w->pc)) {
		*end = beyond(w, slot);
		return false;
	}
	memcpy(&w->pc, w->at->stack + off, sizeof(w->pc));
	w->sp = slot + sizeof(w->pc);
	w->exact = is_injected(f);
	return true;
}

void
go_walk(const struct go_runtime *r, const struct go_place *at,
        struct go_stack *out)
{
	struct walk w = {r, at, at->pc, at->sp, at->exact};
	struct gobin_frame f;

	out->n = 0;
	out->end = GO_END_LOST;
	while (gobin_frame(r->bin, w.pc - r->bias, &f)) {
		if (out->n == PROFILE_MAX_FRAMES) {
			out->end = GO_END_MAX;
			return;
		}
		out->pcs[out->n++] = w.pc | (w.exact ? GO_EXACT : 0);
		if (f.flags & GOBIN_TOP) {
			out->end = GO_END_TOP;
			return;
		}
		/* One that changes stacks tells where it is by its call. */
		if (f.sp_delta < 0 || ((f.flags & GOBIN_SPWRITE) && out->n > 1))
			return;
		if (!step(&w, &f, &out->end))
			return;
	}
}
