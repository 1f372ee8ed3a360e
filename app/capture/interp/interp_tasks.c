#include "interp.h"

#include <string.h>

/* Returns the first frame with a mark; n: there is none. */
static uint32_t
find_mark(const struct interp_stack *s, enum interp_mark mark)
{
	uint32_t i = 0;

	while (i < s->n && !(s->frames[i].mark & mark))
		i++;
	return i;
}

/* Copies the tasks, which await each other, each with its innermost frame
 * first. */
static void
put_tasks(const struct interp_stack *s, uint32_t from, struct interp_frame *out)
{
	for (uint32_t end; from < s->n; from = end) {
		end = from;
		while (end < s->n && !(s->frames[end].mark & INTERP_TASK))
			end++;
		for (uint32_t i = end; i-- > from;)
			*out++ = s->frames[i];
		if (end < s->n)
			*out++ = s->frames[end++];
	}
}

const struct interp_stack *
interp_arrange(const struct interp_stack *s, struct interp_stack *room)
{
	const uint32_t outside = find_mark(s, INTERP_OUTSIDE);
	const uint32_t tasks = find_mark(s, INTERP_TASK);
	struct interp_frame *to = room->frames;

	if (!outside || tasks <= outside || tasks == s->n)
		return s;
	memcpy(room, s, offsetof(struct interp_stack, frames));
	memcpy(to, s->frames, outside * sizeof(*to));
	put_tasks(s, tasks, to + outside);
	to += outside + s->n - tasks;
	memcpy(to, s->frames + outside, (tasks - outside) * sizeof(*to));
	/* The tasks belong to the run of the frames before them. */
	to[-1].mark |= s->frames[outside - 1].mark & INTERP_ENTRY;
	room->frames[outside - 1].mark &= ~(uint64_t)INTERP_ENTRY;
	return room;
}

const struct interp_stack *
interp_arrange_tasks(const struct interp_stack *s, struct interp_stack *room)
{
	memcpy(room, s, offsetof(struct interp_stack, frames));
	put_tasks(s, 0, room->frames);
	return room;
}
