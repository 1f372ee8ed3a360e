#include "breaks.h"

#include "base/path.h"

#include <string.h>

#define FIRST_ROOM 64u
/* Modules with less than 1/N of the stacks are left out. */
#define LEAST_SHARE 200

void
breaks_done(struct breaks *b)
{
	free(b->rows);
	*b = (struct breaks){0};
}

static struct break_count *
row_of(struct breaks *b, uint32_t module)
{
	uint32_t n = b->n ? b->n : FIRST_ROOM;
	struct break_count *more;

	if (module < b->n)
		return &b->rows[module];
	if (module >= MODULES_MAX)
		return NULL;
	while (n <= module)
		n *= 2;
	more = reallocarray(b->rows, n, sizeof(*more));
	if (!more)
		return NULL;
	memset(more + b->n, 0, (n - b->n) * sizeof(*more));
	b->rows = more;
	b->n = n;
	return &b->rows[module];
}

void
breaks_count(struct breaks *b, const struct proc_stack *stack)
{
	struct break_count *row;

	if (stack->end == UNWIND_ROOT)
		return;
	row = row_of(b, stack->last_module);
	if (!row)
		return;
	switch (stack->end) {
	case UNWIND_TRUNCATED:
	case UNWIND_MAX:
		row->deep++;
		break;
	case UNWIND_SWITCHED:
		row->switched++;
		break;
	case UNWIND_BAD:
		row->wrong++;
		break;
	default:
		row->bare++;
		break;
	}
}

static uint32_t
sum(const struct break_count *c)
{
	return c->deep + c->switched + c->bare + c->wrong;
}

/* Returns the reason that applies to most of a module's stacks. */
static enum quality_why
why(const struct break_count *c, uint32_t module, const struct module *m)
{
	if (c->deep * 2 > sum(c))
		return QUALITY_BREAK_DEEP;
	if (c->switched * 2 > sum(c))
		return QUALITY_BREAK_SWITCHED;
	if (module < MODULE_FIRST)
		return QUALITY_BREAK_NOWHERE;
	if (m->is_32)
		return QUALITY_BREAK_BITS_32;
	if (!m->elf)
		return m->pid ? QUALITY_BREAK_GENERATED : QUALITY_BREAK_UNREAD;
	if (!m->table || !unwind_table_has_frames(m->table))
		return QUALITY_BREAK_NO_TABLES;
	return c->wrong > c->bare ? QUALITY_BREAK_WRONG : QUALITY_BREAK_PARTLY;
}

/* Finds the unreported module with the most stacks; b->n: none. */
static uint32_t
next(const struct breaks *b, const bool reported[static MODULES_MAX])
{
	uint32_t most = b->n;

	for (uint32_t i = 0; i < b->n; i++)
		if (!reported[i] && sum(&b->rows[i]) &&
		    (most == b->n || sum(&b->rows[i]) > sum(&b->rows[most])))
			most = i;
	return most;
}

/* Adds stacks to the report. A file that was replaced, and the new one, are
 * two modules with the same name. */
static void
add_break(struct quality *q, const struct quality_break *one)
{
	for (uint32_t i = 0; i < q->nbreaks; i++)
		if (q->breaks[i].why == one->why &&
		    !strcmp(q->breaks[i].module, one->module)) {
			q->breaks[i].stacks += one->stacks;
			return;
		}
	q->breaks[q->nbreaks++] = *one;
}

void
breaks_report(const struct breaks *b, const struct modules *modules,
              struct quality *q)
{
	bool reported[MODULES_MAX] = {false};
	uint32_t i;

	q->nbreaks = 0;
	while (q->nbreaks < QUALITY_MAX_BREAKS &&
	       (i = next(b, reported)) < b->n && i < modules->n &&
	       modules->rows[i]) {
		const struct module *m = modules->rows[i];
		struct quality_break one = {.stacks = sum(&b->rows[i]),
		                            .why = why(&b->rows[i], i, m)};

		reported[i] = true;
		if (one.stacks * LEAST_SHARE < q->kept)
			break;
		strncpy(one.module, path_name(m->path), sizeof(one.module) - 1);
		add_break(q, &one);
	}
}
