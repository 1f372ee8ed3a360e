/*
 * One line of JSON per request on stderr. It holds the route's pattern, not
 * the target: a target may carry the signature of a link.
 */
#pragma once

#include "endpoint/call.h"

void access_log(const struct call *c, int64_t us);
