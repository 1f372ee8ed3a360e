#include "goroutine_frames.h"

#include "base/rows.h"
#include "capture/naming/location.h"

#include <stdio.h>
#include <string.h>

/* --- walking -------------------------------------------------------------- */

/* The state of a walk: the current frame, and its pc. */
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

/* True for a function that the runtime injects, at any instruction: the pc of
 * its caller is exact. */
static bool
is_injected(const struct gobin_frame *f)
{
	return f->func == GOBIN_SIGPANIC || f->func == GOBIN_ASYNC_PREEMPT;
}

/* Steps to the caller; false when there is none, with the reason in *end. */
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
		/* A function that switches stacks has a valid sp_delta only at
		 * its calls. */
		if (f.sp_delta < 0 || ((f.flags & GOBIN_SPWRITE) && out->n > 1))
			return;
		if (!step(&w, &f, &out->end))
			return;
	}
}

/* --- locations ------------------------------------------------------------ */

void
go_frames_done(struct go_frames *f)
{
	pairs_done(&f->known);
	free(f->locations);
}

/* Returns the address whose line is executing when the frame continues at pc.
 * Source: runtime/traceback.go, unwinder.symPC() */
static uint64_t
line_address(const struct go_runtime *r, uint64_t pc)
{
	uint64_t vaddr = (pc & ~GO_EXACT) - r->bias;
	struct gobin_frame f;

	if (pc & GO_EXACT)
		return vaddr;
	return gobin_frame(r->bin, vaddr, &f) && vaddr > f.entry ? vaddr - 1
	                                                         : vaddr;
}

/* Source: runtime/traceback.go, showframe() and elideWrapperCalling() */
static bool
is_hidden(const struct gobin_line *line, uint8_t calls)
{
	if (line->func == GOBIN_GOEXIT)
		return true;
	return line->func == GOBIN_WRAPPER && calls != GOBIN_GOPANIC &&
	       calls != GOBIN_SIGPANIC && calls != GOBIN_PANICWRAP;
}

static int
add_function(struct profile *p, const struct gobin_line *line, uint32_t *out)
{
	struct function row = {.start_line = line->start_line};
	int rc = profile_cstring(p, line->name, &row.name);

	row.system_name = row.name;
	if (!rc)
		rc = profile_cstring(p, line->file, &row.file);
	return rc ? rc : profile_function(p, &row, out);
}

static int
add_location(struct go_frames *f, uint64_t pc, uint8_t calls,
             struct go_location *out)
{
	uint64_t vaddr = line_address(f->r, pc);
	struct gobin_line seen[GOBIN_MAX_LINES];
	struct line lines[GOBIN_MAX_LINES];
	size_t n = gobin_lines(f->r->bin, vaddr, seen, GOBIN_MAX_LINES);
	uint32_t count = 0, mapping;
	int rc = 0;

	*out = (struct go_location){.row = PROFILE_NONE, .calls = calls};
	for (size_t i = 0; i < n && !rc; i++) {
		bool hidden = is_hidden(&seen[i], out->calls);

		out->calls = seen[i].func;
		if (hidden)
			continue;
		lines[count].line = seen[i].line;
		rc = add_function(f->p, &seen[i], &lines[count++].function);
	}
	if (rc || !count)
		return rc;
	rc = finish_mapping(f->modules, f->p, (struct place){f->module, vaddr},
	                    &mapping);
	return rc ? rc
	          : profile_location(f->p, mapping, vaddr, lines, count,
	                             &out->row);
}

static int
find_location(struct go_frames *f, uint64_t pc, uint8_t calls,
              struct go_location *out)
{
	uint32_t before = f->known.n, i;
	int rc = pairs_intern(&f->known, calls, pc, &i);

	if (rc)
		return rc;
	rc = ROWS_REACH(f->locations, f->cap, i);
	if (rc)
		return rc;
	if (i >= before)
		rc = add_location(f, pc, calls, &f->locations[i]);
	*out = f->locations[i];
	return rc;
}

int
go_frames_stack(struct go_frames *f, const uint64_t *pcs, uint32_t n,
                uint32_t *out, uint32_t *nout)
{
	uint8_t calls = GOBIN_NORMAL;
	int rc = 0;

	*nout = 0;
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct go_location at;

		rc = find_location(f, pcs[i], calls, &at);
		calls = at.calls;
		if (!rc && at.row != PROFILE_NONE)
			out[(*nout)++] = at.row;
	}
	return rc;
}

int
go_frames_creator(const struct go_frames *f, uint64_t gopc, uint32_t *name,
                  uint32_t *place)
{
	struct gobin_line seen[GOBIN_MAX_LINES];
	size_t n = gobin_lines(f->r->bin, line_address(f->r, gopc), seen,
	                       GOBIN_MAX_LINES);
	char text[GOBIN_MAX_NAME + 16];
	int rc;

	*name = *place = 0;
	if (!n || !strncmp(seen[n - 1].name, "runtime.", strlen("runtime.")))
		return 0;
	/* Like tracebacks: the outermost function, and the line in the
	 * innermost. */
	snprintf(text, sizeof(text), "%s:%u", seen[0].file, seen[0].line);
	rc = profile_cstring(f->p, seen[n - 1].name, name);
	return rc ? rc : profile_cstring(f->p, text, place);
}
