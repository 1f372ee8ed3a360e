/* Failed steps of a call whose reply goes on without them. */
#pragma once

#include "endpoint/call.h"

/*
 * Appends the message of the error that the reply holds, and empties the reply.
 * False if the call itself must end: its client is gone, or it is to be run
 * again.
 */
bool failure_take(struct call *c, struct buf *out);
