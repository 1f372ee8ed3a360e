/*
 * A push by Connect in JSON.
 */
#pragma once

#include "base/buf.h"

/*
 * Writes a PushRequest in JSON as protobuf. Members without a use are left out.
 *
 *   Shape    names in camel case or as in the .proto file; profiles in base64,
 *            either alphabet, with or without padding
 *   Errors   -EBADMSG with a line in why; an error of out. out is cut short
 *   Source   protobuf.dev/programming-guides/json; RFC 4648, 4 and 5
 */
MUST_CHECK int
connect_json(const char *p, size_t n, struct buf *out, struct buf *why);
