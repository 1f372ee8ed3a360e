#include "cli.h"
#include "key.h"
#include "store/worker.h"

#include <errno.h>
#include <string.h>

int
cmd_forget(struct cli *c)
{
	CLEANUP_STORE struct store s = {.profiles_fd = -1, .segments_fd = -1};
	const char *host = c->operands[0];
	int rc = key_store(&c->opt, &s);

	if (rc)
		return rc;
	rc = worker_forget(&s, host);
	if (rc == -ENOENT)
		return failed("there is no worker of a host '%s' that has "
		              "stopped",
		              host);
	return rc ? failed("%s: %s", host, strerror(-rc))
	          : print_done(c, host, "forgotten");
}
