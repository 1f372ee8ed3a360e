/*
 * FastCGI, by libfcgi: a request read from it, a reply written to it.
 */
#pragma once

#include "endpoint/reply.h"
#include "endpoint/request.h"

#include <fcgiapp.h>

/*
 * Reads one accepted request.
 *
 *   Shape    out->body points into body; texts of the headers into f
 *   Errors   -ENOENT, -EINVAL, -E2BIG of the target: out is otherwise whole;
 *            -EPIPE when the request did not arrive whole: drop it
 */
MUST_CHECK int
fcgi_receive(FCGX_Request *f, struct request *out, struct buf *body);
/* What HTTP calls a status; "Unknown" for one that no reply has. */
const char *fcgi_reason(int status);
/* Writes status, headers and, unless the request is HEAD, the body. */
void fcgi_send(FCGX_Request *f, const struct request *req,
               const struct reply *reply);
