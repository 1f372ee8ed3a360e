#include "tunnel.h"

#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAX 64

/* Reads the port of a link to 127.0.0.1 or localhost; false for others. */
static bool
is_local(const char *url, unsigned *port)
{
	static const char *const hosts[] = {"127.0.0.1", "localhost", "[::1]"};
	bool tls = !strncmp(url, "https://", 8);
	size_t n;

	if (!tls && strncmp(url, "http://", 7) != 0)
		return false;
	url += tls ? 8 : 7;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		n = strlen(hosts[i]);
		if (strncmp(url, hosts[i], n) || !strchr(":/", url[n]))
			continue;
		*port = tls ? 443 : 80;
		return url[n] != ':' || sscanf(url + n, ":%5u", port) == 1;
	}
	return false;
}

void
tunnel_show(struct buf *out, const char *url)
{
	const char *ssh = getenv("SSH_CONNECTION"), *user = getenv("USER");
	char address[ADDRESS_MAX];
	unsigned port, sshd;

	if (!ssh || !is_local(url, &port) ||
	    sscanf(ssh, "%*s %*u %63s %5u", address, &sshd) != 2)
		return;
	buf_puts(out, "on the machine of your browser, first:\n  ssh ");
	if (sshd != 22)
		buf_addf(out, "-p %u ", sshd);
	buf_addf(out, "-L %u:127.0.0.1:%u ", port, port);
	if (user && *user) {
		safe_puts(out, user);
		buf_putc(out, '@');
	}
	safe_puts(out, address);
	buf_putc(out, '\n');
}
