/*
 * A page for a person who opens a link that does not work. Browsers have no use
 * for an error in JSON; clients of the API still get one.
 */
#pragma once

#include "endpoint/call.h"

/* Replaces a finished error by a page, if a browser asked for a route marked
 * LINK. */
void refusal_page(struct call *c);
