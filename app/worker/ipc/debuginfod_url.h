/*
 * URLs of debug files at the debuginfod servers of [symbols] debuginfod, a list
 * separated by spaces.
 *
 * Source: debuginfod(8), webapi: GET /buildid/HEX/debuginfo
 */
#pragma once

#include "base/cleanup.h"
#include "base/url.h"

#include <stdbool.h>
#include <stddef.h>

#define DEBUGINFOD_MAX_SERVERS 8

/* Finds one server in the list. Returns its length, with its start in *at; 0 if
 * the list is shorter. */
size_t debuginfod_server(const char *list, unsigned which, const char **at);
/*
 * Makes the URL of one file.
 *   Shape    name is "HEX.debug", where HEX is the build-id
 *   Errors   -ENOENT no such server, -E2BIG
 */
MUST_CHECK int debuginfod_url(const char *list, unsigned which,
                              const char *name, char out[static URL_MAX + 1]);
/* True when debuginfod_url() can make this URL from the list. */
bool debuginfod_allows(const char *list, const char *url);
