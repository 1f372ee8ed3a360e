/*
 * The page that a person sees who opens a link that does not work. Browsers
 * have no use for an error in JSON; clients of the API go on getting it.
 */
#pragma once

#include "endpoint/call.h"

/* Replaces a finished error by a page, where a browser asks for what a route
 * marked LINK serves. */
void refusal_page(struct call *c);
