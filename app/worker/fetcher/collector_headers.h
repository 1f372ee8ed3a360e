/*
 * The operator's headers for collectors: lines of a file,
 *
 *	TENANT HOST Name: value
 *
 * in which TENANT is a tenant or *, and HOST a pattern for url_allowed()
 * (base/url.h). Blank lines and lines that begin with # are ignored.
 */
#pragma once

#include "base/cleanup.h"
#include "base/url.h"

/* Calls add() with each header, "Name: value", for a tenant and a URL, until it
 * fails; own is as in url_allowed(). Lines that are malformed are left out. */
MUST_CHECK int
collector_headers(const char *text, const char *tenant, const struct url *u,
                  const char *own, int (*add)(void *arg, const char *header),
                  void *arg);
/* Returns the number of the first line that is malformed, or 0. */
unsigned collector_headers_check(const char *text);
