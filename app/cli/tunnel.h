/*
 * The ssh command that makes links to this host's server work elsewhere: a
 * server listens on 127.0.0.1 by default, and the browser of a user who is
 * logged in by ssh runs on another machine.
 */
#pragma once

#include "base/buf.h"

/* Appends a line with the command; nothing unless $SSH_CONNECTION is set and
 * the link is to this host.
 *   Source   ssh(1), ENVIRONMENT */
void tunnel_show(struct buf *out, const char *url);
