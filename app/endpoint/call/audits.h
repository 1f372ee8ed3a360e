/* What endpoints share: the line of the audit log that goes with a change. */
#pragma once

#include "endpoint/call.h"

/* Notes that the caller did this operation to target; detail is a JSON
 * object. Call it in the change's transaction. */
MUST_CHECK int
audit_note(struct call *c, const char *target, const char *detail);
