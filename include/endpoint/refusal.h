/*
 * What a person sees who opens a link that does not work. A page that a route
 * marked LINK serves is opened by browsers, which have no use for an error in
 * JSON; clients of the API go on getting it.
 */
#pragma once

#include "endpoint/call.h"

/* Puts a page in the place of a finished error, where a browser asks for a
 * page of such a route. */
void refusal_page(struct call *c);
