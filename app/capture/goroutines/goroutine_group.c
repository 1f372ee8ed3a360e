#include "goroutine_group.h"

#include "base/rows.h"

#include <errno.h>
#include <string.h>

#define MAX_STARTS  (1u << 16)
#define MAX_NODES   PAIRS_MAX
#define MAX_MEMBERS ((size_t)GO_MAX_GOROUTINES * sizeof(struct go_member))

int
go_groups_init(struct go_groups *s, const struct go_runtime *r,
               struct profile *p)
{
	uint32_t none;
	int rc;

	*s = (struct go_groups){
		.r = r,
		.stacks = {.max = MAX_NODES},
		.sites = {.max = MAX_NODES},
		.keys = {.max = MAX_NODES},
		.starts = {.max = MAX_STARTS},
		.runtime_start = calloc(MAX_STARTS, sizeof(bool)),
		.members = BUF_INIT(MAX_MEMBERS),
	};
	rc = go_tags_init(&s->tags, r, p);
	if (!rc)
		rc = pairs_intern(&s->stacks, UINT32_MAX, UINT64_MAX, &none);
	return s->runtime_start ? rc : -ENOMEM;
}

void
go_groups_done(struct go_groups *s)
{
	go_tags_done(&s->tags);
	pairs_done(&s->stacks);
	pairs_done(&s->sites);
	pairs_done(&s->keys);
	pairs_done(&s->starts);
	buf_done(&s->members);
	free(s->runtime_start);
	free(s->groups);
}

/* --- goroutines of the runtime -------------------------------------------- */

/* Source: runtime/traceback.go, isSystemGoroutine() */
static bool
starts_in_runtime(const struct go_runtime *r, uint64_t pc)
{
	struct gobin_line line;
	struct gobin_frame f;

	if (!gobin_frame(r->bin, pc - r->bias, &f) ||
	    f.func == GOBIN_RUNTIME_MAIN ||
	    f.func == GOBIN_HANDLE_ASYNC_EVENT || f.func == GOBIN_COROSTART)
		return false;
	return gobin_lines(r->bin, pc - r->bias, &line, 1) &&
	       !strncmp(line.name, "runtime.", strlen("runtime."));
}

/* True for a goroutine of finalizers or cleanups that runs the program's code;
 * while it waits for work, it counts as a goroutine of the runtime. */
static bool
runs_for_others(const struct go_runtime *r, const struct go_g *g)
{
	struct gobin_frame f;
	const char *reason = g->reason < GO_MAX_REASONS ? r->reasons[g->reason]
	                                                : "";

	return gobin_frame(r->bin, g->startpc - r->bias, &f) &&
	       (f.func == GOBIN_RUN_FINALIZERS ||
	        f.func == GOBIN_RUN_CLEANUPS) &&
	       (g->status != GO_WAITING || (strcmp(reason, "finalizer wait") &&
	                                    strcmp(reason, "cleanup wait")));
}

static bool
is_system(struct go_groups *s, const struct go_g *g)
{
	uint32_t before = s->starts.n, i;

	if (pairs_intern(&s->starts, 0, g->startpc, &i))
		return false;
	if (i >= before)
		s->runtime_start[i] = starts_in_runtime(s->r, g->startpc);
	return s->runtime_start[i] && !runs_for_others(s->r, g);
}

/* --- groups --------------------------------------------------------------- */

static bool
is_last(const struct go_groups *s, const struct go_stack *stack)
{
	return s->last_node && stack->n == s->last.n &&
	       !memcmp(stack->pcs, s->last.pcs, stack->n * sizeof(uint64_t));
}

static int
find_stack(struct go_groups *s, const struct go_stack *stack, uint32_t *out)
{
	uint32_t node = 0;
	int rc = 0;

	if (is_last(s, stack)) {
		*out = s->last_node;
		return 0;
	}
	for (uint32_t i = stack->n; i-- > 0 && !rc;)
		rc = pairs_intern(&s->stacks, node, stack->pcs[i], &node);
	if (rc)
		return rc;
	s->last.n = stack->n;
	memcpy(s->last.pcs, stack->pcs, stack->n * sizeof(uint64_t));
	s->last_node = *out = node;
	return 0;
}

static int
make_room(struct go_groups *s)
{
	return ROWS_ROOM(s->groups, s->cap, 0, s->keys.n);
}

static int
find_group(struct go_groups *s, const struct go_g *g, uint32_t stack,
           uint32_t *out)
{
	uint32_t tags = go_tags_of(&s->tags, g->labels), site;
	uint32_t before = s->keys.n;
	uint64_t rest = (uint64_t)tags << 32 | (uint64_t)g->status << 16 |
	                (uint64_t)g->reason << 8 | g->locked;
	int rc = pairs_intern(&s->sites, stack, g->gopc, &site);

	if (!rc)
		rc = pairs_intern(&s->keys, site, rest, out);
	if (!rc)
		rc = make_room(s);
	if (!rc && *out >= before)
		s->groups[*out] = (struct go_group){
			.stack = stack,
			.tags = tags,
			.gopc = g->gopc,
			.status = g->status,
			.reason = g->reason,
			.locked = g->locked,
		};
	return rc;
}

static void
count(struct go_groups *s, const struct go_stack *stack)
{
	s->seen++;
	if (!stack->n)
		s->unread++;
	else if (stack->end == GO_END_TOP)
		s->whole++;
	else if (stack->end == GO_END_LOST)
		s->lost++;
	else
		s->deep++;
}

static bool
waits(const struct go_g *g)
{
	return g->status == GO_WAITING || g->status == GO_LEAKED ||
	       g->status == GO_SYSCALL;
}

static int
take(void *arg, const struct go_g *g, const struct go_stack *stack)
{
	struct go_groups *s = arg;
	struct go_member m = {
		.addr = g->addr,
		.goid = g->goid,
		.parent = g->parent,
		.since = waits(g) ? g->waitsince : 0,
		.waiting = waits(g) ? g->waiting : 0,
	};
	uint32_t node;
	int rc;

	if (is_system(s, g)) {
		s->system++;
		return 0;
	}
	rc = find_stack(s, stack, &node);
	if (!rc)
		rc = find_group(s, g, node, &m.group);
	if (rc)
		return rc;
	s->groups[m.group].n++;
	count(s, stack);
	buf_add(&s->members, &m, sizeof(m));
	return buf_err(&s->members);
}

static int
learn(void *arg, const struct go_g *g, size_t n)
{
	struct go_groups *s = arg;

	return go_tags_learn(&s->tags, g, n);
}

struct go_sink
go_groups_sink(struct go_groups *s)
{
	return (struct go_sink){.batch = learn, .one = take, .arg = s};
}
