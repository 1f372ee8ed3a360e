#include "opener_marks.h"

#include "base/folder.h"
#include "base/proc_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The journal stays locked while a process of this worker has it open. */
static struct marks *
map(const char *state_dir)
{
	const size_t bytes = sizeof(struct marks);
	int flags = MAP_SHARED, fd;
	struct stat st;
	void *p;

	if (journal_open(state_dir, MARKS_JOURNAL, &fd)) {
		fd = -1;
		flags |= MAP_ANONYMOUS;
	} else if (fstat(fd, &st) ||
	           ((size_t)st.st_size != bytes &&
	            (ftruncate(fd, 0) || ftruncate(fd, (off_t)bytes)))) {
		close(fd);
		fd = -1;
		flags |= MAP_ANONYMOUS;
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct marks *
marks_open(const char *state_dir)
{
	struct marks *m = map(state_dir);
	char boot_id[BOOT_ID] = "";

	if (!m)
		return NULL;
	if (journal_boot_id(boot_id) ||
	    memcmp(m->boot_id, boot_id, sizeof(boot_id))) {
		marks_clear(m);
		memcpy(m->boot_id, boot_id, sizeof(boot_id));
	}
	return m;
}

bool
marks_any(const struct marks *m)
{
	for (size_t i = 0; i < MARKS_MAX; i++)
		if (m->all[i].inode)
			return true;
	return false;
}

int
marks_add(struct marks *m, int file, uint32_t n,
          const struct allocs_place *places)
{
	struct mark new = {.n = n};
	struct stat st;

	if (fstat(file, &st))
		return -errno;
	new.device = st.st_dev;
	new.inode = st.st_ino;
	for (uint32_t i = 0; i < n; i++)
		new.places[i] = (struct mark_place){places[i].offset,
		                                    places[i].counter};
	for (size_t i = 0; i < MARKS_MAX; i++)
		if (!memcmp(&m->all[i], &new, sizeof(new)))
			return 0;
	m->all[m->next % MARKS_MAX] = new;
	m->next++;
	return 0;
}

void
marks_clear(struct marks *m)
{
	memset(m->all, 0, sizeof(m->all));
}

/* --- repairs -------------------------------------------------------------- */

struct repair {
	const struct marks *marks;
	const struct allocs *with;
	bool done[MARKS_MAX];
	int rc;
};

static void
repair_file(struct repair *r, const struct mark *m, int file)
{
	for (uint32_t i = 0; i < m->n && i < ALLOCS_MAX_PLACES; i++) {
		int rc = allocs_repair(r->with, file, m->places[i].offset,
		                       m->places[i].counter);

		r->rc = r->rc ?: rc;
	}
}

struct folder {
	struct repair *repair;
	int fd;
};

/* Looks at a mapped file of a process, which may unmap it meanwhile. The file
 * system, which may be a process that does not answer, is not asked. */
static int
look(void *arg, const char *name)
{
	const struct folder *folder = arg;
	struct repair *r = folder->repair;
	struct statx st;
	uint64_t device;

	if (statx(folder->fd, name, AT_STATX_DONT_SYNC, STATX_INO, &st))
		return 0;
	device = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (size_t i = 0; i < MARKS_MAX; i++) {
		const struct mark *m = &r->marks->all[i];
		CLEANUP_FD int file = -1;

		if (!m->inode || r->done[i] || m->inode != st.stx_ino ||
		    m->device != device)
			continue;
		file = openat(folder->fd, name,
		              O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (file < 0)
			continue;
		repair_file(r, m, file);
		r->done[i] = true;
	}
	return 0;
}

/* A file that no process maps any more has no breakpoint. */
int
marks_repair(const struct marks *m, const struct allocs *with)
{
	CLEANUP_FOLDER DIR *proc = NULL;
	struct repair r = {.marks = m, .with = with};
	int rc = folder_open(AT_FDCWD, "/proc", &proc);
	int32_t pid;

	while (!rc && (pid = folder_next_number(proc))) {
		CLEANUP_FOLDER DIR *files = NULL;
		char name[64];

		snprintf(name, sizeof(name), "%d/map_files", (int)pid);
		if (!proc_in_exec(dirfd(proc), pid) &&
		    !folder_open(dirfd(proc), name, &files))
			(void)!folder_each(dirfd(files), look,
			                   &(struct folder){&r, dirfd(files)});
	}
	return rc ?: r.rc;
}
