/*
 * Reads requests from FastCGI and writes replies to it, by libfcgi.
 */
#pragma once

#include "endpoint/reply.h"
#include "endpoint/request.h"

#include <fcgiapp.h>

/*
 * Reads one accepted request.
 *
 *   Shape    texts of headers point into f; the body is not read yet
 *   Errors   as request_target(), for a bad target: all else in out is set
 */
MUST_CHECK int fcgi_receive(FCGX_Request *f, struct request *out);
/*
 * Reads the body of a request: r->body then points into body, which bounds it.
 *   Errors   -EPIPE when the body did not arrive whole
 */
MUST_CHECK int fcgi_body(FCGX_Request *f, struct request *r, struct buf *body);
/* Returns HTTP's reason for a status; "Unknown" for one that no reply has. */
const char *fcgi_reason(int status);
/* Writes status, headers and, unless the request is HEAD, the body. */
void fcgi_send(FCGX_Request *f, const struct request *req,
               const struct reply *reply);
