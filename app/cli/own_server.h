/*
 * Finds out whether the server that answers belongs to the store of this host.
 * Two installations may share a host, such as a package and `make run`, and
 * only one of them has the port.
 */
#pragma once

#include "base/conf.h"
#include "http.h"

enum own_server {
	OWN_YES,     /* server and store both know the key, or neither does */
	OWN_NO,      /* only one of them does */
	OWN_UNKNOWN, /* no answer, a server elsewhere, a key that is not Stoker's,
	              * or a closed store */
};

/*
 * Asks the server what the key may see, and looks the key up in the store, in
 * a child that has become the store's owner.
 */
enum own_server own_server(struct http *h, const struct conf *conf);
/* Explains OWN_NO, and gives the commands that end it. */
#define OWN_NO_FOUND "another installation of Stoker answers there"
#define OWN_NO_FIX                                                        \
	"end the other one (make stop, if make run started it), then ln " \
	"-sf ../sites-available/stoker /etc/nginx/sites-enabled/ && "     \
	"systemctl reload-or-restart nginx"
