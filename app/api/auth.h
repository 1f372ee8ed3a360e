/*
 * Authentication by API key, JWT, signed link, the cookie of a browser session,
 * or a single sign-on at nginx; the tenant of the request, and its role.
 */
#pragma once

#include "jwt.h"
#include "endpoint/call.h"

/*
 * Fills c->caller.
 *
 *   Shape    keys is NULL when no JWKS is configured
 *   Errors   0, or -1 with a 401 or 403 reply
 */
MUST_CHECK int auth_check(struct call *c, struct jwt_keys *keys);
void caller_clear(struct caller *c);
