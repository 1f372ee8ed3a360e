#include "wake.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>

#define WATCHED (IN_ATTRIB | IN_MODIFY | IN_CREATE | IN_MOVED_TO)

int
wake_open(const char *dir, int *out)
{
	CLEANUP_FD int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0 || inotify_add_watch(fd, dir, WATCHED | IN_ONLYDIR) < 0)
		return -errno;
	*out = TAKE_FD(fd);
	return 0;
}

bool
wake_drain(int fd)
{
	char room[8 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool ours = false;
	ssize_t n;

	while ((n = read(fd, room, sizeof(room))) > 0) {
		const char *p = room;

		while (p < room + n) {
			const struct inotify_event *e = (const void *)p;

			ours |= (e->mask & IN_Q_OVERFLOW) ||
			        (e->len && !strncmp(e->name, "stoker.db", 9));
			p += sizeof(*e) + e->len;
		}
	}
	return ours;
}
