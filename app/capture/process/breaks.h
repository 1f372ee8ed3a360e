/*
 * Where stacks break off before the start of their thread, counted by the
 * module of the last frame that was found.
 */
#pragma once

#include "capture/quality.h"
#include "modules.h"
#include "process.h"

struct breaks {
	struct break_count {
		uint32_t deep, switched, bare, wrong;
	} * rows; /* by module */
	uint32_t n;
};

void breaks_done(struct breaks *b);
/* Counts a stack, if it breaks off. Without memory for it, it is not told. */
void breaks_count(struct breaks *b, const struct proc_stack *stack);
/* Tells of the modules where most do. */
void breaks_tell(const struct breaks *b, const struct modules *modules,
                 struct quality *q);
