#include "turn.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* The turn of this process; malloc() has no argument for it. */
static struct {
	int fd;
	enum { FREE, SMALL, PAUSED, BIG } state; /* FREE: not a child */
} self = {.fd = -1};

int
turns_open(struct turns *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-turn", MFD_CLOEXEC);
	int statm = fd < 0 ? -1
	                   : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (statm < 0)
		return -errno;
	*out = (struct turns){TAKE_FD(fd), statm};
	return 0;
}

int
turn_begin(const struct turns *t)
{
	int rc = memory_bound_by(t->statm, MEMORY_CHILD);

	if (!rc) {
		self.fd = t->fd;
		self.state = SMALL;
	}
	return rc;
}

bool
turn_take(void)
{
	/* the kernel releases it when the process ends: fcntl(2) */
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (self.state != SMALL)
		return false;
	while (fcntl(self.fd, F_SETLKW, &lock))
		if (errno != EINTR)
			return false;
	self.state = BIG;
	return !memory_unbound();
}

int
turn_pause(void)
{
	if (self.state == BIG)
		return -ENOMEM;
	if (self.state == SMALL)
		self.state = PAUSED;
	return 0;
}

void
turn_resume(void)
{
	if (self.state == PAUSED)
		self.state = SMALL;
}
