#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Source: getaddrinfo(3), nsswitch.conf(5), ld.so(8). */
static const char *const readable[] = {
	"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
	"/etc/host.conf",   "/etc/gai.conf", "/etc/services",
	"/etc/ld.so.cache", "/lib",          "/lib64",
	"/usr/lib",         "/usr/lib64",    "/run/systemd/resolve",
};

/* All that the first version of Landlock can forbid. */
#define ALL_OF_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static int
add_path(int ruleset, const char *path)
{
	CLEANUP_FD int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
		.parent_fd = fd,
	};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 0; /* is not there: need not be read */
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	return syscall(SYS_landlock_add_rule, ruleset,
	               LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
	               ? -errno
	               : 0;
}

int
landlock_resolver_files(void)
{
	struct landlock_ruleset_attr all = {.handled_access_fs = ALL_OF_V1};
	CLEANUP_FD int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	int rc = ruleset < 0 ? -errno : 0;

	for (size_t i = 0; i < ARRAY_LEN(readable) && !rc; i++)
		rc = add_path(ruleset, readable[i]);
	if (!rc && syscall(SYS_landlock_restrict_self, ruleset, 0))
		rc = -errno;
	return rc;
}
