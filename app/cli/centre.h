/* The centre of a fleet, as [agent] of this host's stoker.conf has it. */
#pragma once

#include "base/conf.h"
#include "http.h"

/* Prepares calls to url as [agent] says, by HTTPS alone; http_done(out). */
void centre_http(const struct conf *conf, const char *url, struct http *out);
/* Returns true for an address that a centre may have. */
bool centre_url_ok(const char *url);
