/* The centre of a fleet, as configured in [agent] of this host's
 * stoker.conf. */
#pragma once

#include "base/conf.h"
#include "http.h"

/* Prepares calls to url with the settings of [agent], by HTTPS only. The caller
 * calls http_done(out). */
void centre_http(const struct conf *conf, const char *url, struct http *out);
/* True for a valid address of a centre. */
bool centre_url_ok(const char *url);
