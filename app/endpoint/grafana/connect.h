/*
 * Calls of the Connect protocol: a message in the body, and one in the reply,
 * both in protobuf or both in JSON, as Content-Type says.
 *
 *   Source   connectrpc.com/docs/protocol, "Unary-Request"
 */
#pragma once

#include "endpoint/call.h"
#include "messages.h"

/*
 * Reads the message of a call; it may be compressed with gzip.
 *   Owns     *out is the caller's; json_decref() it
 *   Errors   -1 with the reply
 */
MUST_CHECK int connect_read(struct call *c, enum message m, json_t **out);
/* Answers with a message in protobuf, or in JSON if the call is in JSON. */
MUST_CHECK int
connect_answer(struct call *c, enum message m, const struct buf *wire);

/* True for a call in JSON. */
bool connect_is_json(const struct call *c);
/* Answers a call in JSON with the JSON in the reply's body. */
MUST_CHECK int connect_answer_json(struct call *c);

/* Members of a message that was read; "", 0, NULL if absent. */
const char *asked_text(const json_t *q, const char *name);
int64_t asked_int(const json_t *q, const char *name);
double asked_real(const json_t *q, const char *name);
const json_t *asked_list(const json_t *q, const char *name);
