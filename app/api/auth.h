/*
 * Authentication by API key, JWT, signed link, session cookie, or single
 * sign-on at nginx. It yields the tenant and the role of the request.
 */
#pragma once

#include "endpoint/call.h"
#include "jwt.h"

/*
 * Fills c->caller.
 *
 *   Shape    keys is NULL when no JWKS is configured
 *   Errors   returns 0, or -1 with a 401 or 403 reply
 */
MUST_CHECK int auth_check(struct call *c, struct jwt_keys *keys);
void caller_clear(struct caller *c);
