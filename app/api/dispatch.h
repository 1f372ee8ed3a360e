/*
 * From a request to its reply: finds the route, checks access, body and
 * parameters, and runs the handler.
 */
#pragma once

#include "auth.h"
#include "endpoint/call.h"

/* Answers one request; c->env, req and reply are set. The call keeps what the
 * access log needs until dispatch_done(). */
void dispatch(struct call *c, struct jwt_keys *keys);
/* Answers a request whose target request_target() refused with rc. */
void dispatch_refuse(struct call *c, int rc);
void dispatch_done(struct call *c);
