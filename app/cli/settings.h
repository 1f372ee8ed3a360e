/* The server's configuration, for commands that work without the server. */
#pragma once

#include "base/conf.h"
#include "options.h"

#define CONFIG_DEFAULT "/etc/stoker/stoker.conf"

/*
 * Reads --config, $STOKER_CONFIG or the default file; --state overrides the
 * store's directory.
 *   Owns     *out is the caller's; conf_done() it
 *   Errors   -errno with one line in *why; *out untouched
 */
MUST_CHECK int
settings_load(const struct options *o, struct conf *out, struct buf *why);
/* Returns the file that settings_load() reads. */
const char *settings_file(const struct options *o);
