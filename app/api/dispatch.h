/*
 * Answers a request: finds the route, checks access, body and parameters, and
 * runs the handler.
 */
#pragma once

#include "auth.h"
#include "endpoint/call.h"

/* Answers one request. The caller has set c->env, req and reply. The
 * fields that the access log needs stay valid until dispatch_done(). */
void dispatch(struct call *c, struct jwt_keys *keys);
/* Answers a request whose target request_target() refused; rc is its error. */
void dispatch_refuse(struct call *c, int rc);
void dispatch_done(struct call *c);
