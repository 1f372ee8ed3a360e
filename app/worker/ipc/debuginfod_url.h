/*
 * Addresses of debug files at the debuginfod servers that [symbols]
 * debuginfod lists, separated by spaces.
 *
 * Source: debuginfod(8), webapi: GET /buildid/HEX/debuginfo
 */
#pragma once

#include "base/cleanup.h"
#include "base/url.h"

#include <stdbool.h>
#include <stddef.h>

#define DEBUGINFOD_MAX_SERVERS 8

/* One server of the list: its length, *at at its start; 0: there is none. */
size_t debuginfod_server(const char *list, unsigned which, const char **at);
/*
 * The address of one file.
 *   Shape    name: "HEX.debug", HEX being the build-id
 *   Errors   -ENOENT no such server, -E2BIG
 */
MUST_CHECK int debuginfod_url(const char *list, unsigned which,
                              const char *name, char out[static URL_MAX + 1]);
/* True when a URL is one of those that debuginfod_url() makes of the list. */
bool debuginfod_allows(const char *list, const char *url);
