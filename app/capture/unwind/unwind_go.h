/* Rules of Go's functions, from Go's own tables. */
#pragma once

#include "capture/gobin/gobin.h"
#include "unwind_rule.h"

/*
 * Finds the rule at vaddr, as unwind_table_rule() does; false: no Go function.
 *
 * A stack of the runtime (g0) continues on the stack of the goroutine that
 * switched to it (CFA_SWITCH). It ends there if the goroutine switched to the
 * scheduler, which does not return to it.
 */
MUST_CHECK bool unwind_go_rule(struct gobin *g, uint64_t vaddr, bool returns,
                               struct unwind_rule *out);
