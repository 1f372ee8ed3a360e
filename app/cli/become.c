#include "become.h"

#include <errno.h>
#include <grp.h>
#include <sys/stat.h>

int
become_owner(const char *dir)
{
	struct stat st;

	if (stat(dir, &st))
		return -errno;
	if (geteuid() || !st.st_uid)
		return 0;
	if (setgroups(0, NULL) || setresgid(st.st_gid, st.st_gid, st.st_gid) ||
	    setresuid(st.st_uid, st.st_uid, st.st_uid))
		return -errno;
	return 0;
}
