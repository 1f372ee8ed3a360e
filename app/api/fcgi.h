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
 *   Shape    texts of the headers point into f; the body is still to be read
 *   Errors   -ENOENT, -EINVAL, -E2BIG of the target: out is otherwise whole
 */
MUST_CHECK int fcgi_receive(FCGX_Request *f, struct request *out);
/*
 * Reads its body: r->body then points into body, which bounds it.
 *   Errors   -EPIPE when it did not arrive whole
 */
MUST_CHECK int fcgi_body(FCGX_Request *f, struct request *r, struct buf *body);
/* What HTTP calls a status; "Unknown" for one that no reply has. */
const char *fcgi_reason(int status);
/* Writes status, headers and, unless the request is HEAD, the body. */
void fcgi_send(FCGX_Request *f, const struct request *req,
               const struct reply *reply);
