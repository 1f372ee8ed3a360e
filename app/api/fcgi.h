/*
 * Reads requests from FastCGI and writes replies to it, with libfcgi.
 */
#pragma once

#include "endpoint/reply.h"
#include "endpoint/request.h"

#include <fcgiapp.h>

/*
 * Reads one accepted request.
 *
 *   Shape    header values point into f; the body is not read yet
 *   Errors   those of request_target() if the target is bad; everything else in
 *            out is set
 */
MUST_CHECK int fcgi_receive(FCGX_Request *f, struct request *out);
/*
 * Reads the body of a request into body, whose ceiling bounds it; r->body
 * points there.
 *   Errors   -EPIPE if the body was cut off
 */
MUST_CHECK int fcgi_body(FCGX_Request *f, struct request *r, struct buf *body);
/* Returns the reason phrase of a status, or "Unknown" if no reply has that
 * status. */
const char *fcgi_reason(int status);
/* Writes the status, the headers and, unless the method is HEAD, the body. */
void fcgi_send(FCGX_Request *f, const struct request *req,
               const struct reply *reply);
