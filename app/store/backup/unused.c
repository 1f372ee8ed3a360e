#include "unused.h"

#include "store/db/sqlite.h"

#include <errno.h>
#include <string.h>

int
store_check_unused(const char *folder, const char *database, struct buf *why)
{
	pid_t pid = 0;
	int rc = sqlite_in_use(database, &pid);

	if (rc)
		buf_addf(why, "%s: %s", database, strerror(-rc));
	if (rc || !pid)
		return rc;
	buf_addf(why, "%s is in use", folder);
	if (pid > 0)
		buf_addf(why, " by process %d", (int)pid);
	buf_puts(why, ": stop the API and the worker first (systemctl stop "
	              "stoker-api.socket stoker-api stoker-worker)");
	return -EBUSY;
}
