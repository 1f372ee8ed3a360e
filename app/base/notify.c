#include "base/notify.h"

#include "base/cleanup.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
notify_manager(const char *lines)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;
	CLEANUP_FD int fd = -1;

	if (!n || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (*path == '@') /* an abstract socket address */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)!sendto(
			fd, lines, strlen(lines), MSG_NOSIGNAL,
			(struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		                    n));
}
