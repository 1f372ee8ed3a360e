/*
 * Counts stacks that break off before the start of their thread, by the module
 * of the last frame found.
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
/* Counts a stack that breaks off, unless memory runs out. */
void breaks_count(struct breaks *b, const struct proc_stack *stack);
/* Reports the modules where most stacks break off. */
void breaks_report(const struct breaks *b, const struct modules *modules,
                   struct quality *q);
