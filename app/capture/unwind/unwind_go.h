/* Rules of Go's functions, from Go's own tables. */
#pragma once

#include "capture/gobin/gobin.h"
#include "unwind_rule.h"

/*
 * The rule at vaddr, as unwind_table_rule has it; false: no Go function.
 *
 * A stack of the runtime's own (g0) goes on at the goroutine that was left
 * for it (CFA_SWITCH); it ends where that goroutine was not left to be
 * returned to, but for the scheduler.
 */
MUST_CHECK bool unwind_go_rule(struct gobin *g, uint64_t vaddr, bool returns,
                               struct unwind_rule *out);
