/*
 * The containers of this host: which one a process is in, and facts about it
 * from the files of its runtime.
 *
 * A container's files are read when its first process is seen, again every
 * second while they name no container, and every CONTAINER_FRESH_NS, since a
 * container can be renamed. Files are those of the user who owns the folder in
 * which the container's control group was made (container_group.h): a user
 * cannot pass a process off as a container of root.
 */
#pragma once

#include "base/buf.h"
#include "container_group.h"
#include "store/container.h"

#include <stdint.h>
#include <sys/types.h>

#define CONTAINERS_MAX     4096
#define CONTAINER_RETRY_NS INT64_C(1000000000)
#define CONTAINER_FRESH_NS INT64_C(60000000000)

struct container {
	struct container_group group;
	uid_t owner;
	struct container_facts facts; /* NAME is always there */
	bool named;                   /* not only by its id */
	int64_t read_ns;
	uint32_t uses;
};

/* Reads files that this process may not read itself. */
struct container_reader {
	/* Appends a file of container_file.def, or the name that it stands for;
	 * row counts from 0. Returns 0 or -errno. */
	int (*file)(void *arg, uint32_t row, const char *path, uid_t owner,
	            struct buf *out);
	void *arg;
};

struct containers {
	struct container_reader reader;
	const char *groups, *users; /* /sys/fs/cgroup, /etc/passwd */
	size_t depth; /* of the worker's own group, if paths lead up from it */
	struct container **items;
	size_t n, cap;
};

void containers_done(struct containers *c);
/*
 * Finds the container of a process from the text of its /proc/PID/cgroup.
 *   Owns     *out, NULL if there is none, is shared: containers_leave(*out)
 *   Errors   -ENOMEM
 */
MUST_CHECK int containers_find(struct containers *c, const char *text,
                               int64_t now_ns, struct container **out);
/* Ends the use of a container, if it is not NULL. */
void containers_leave(struct container *c);
