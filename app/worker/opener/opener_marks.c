#include "opener_marks.h"

#include "base/folder.h"
#include "base/proc_exec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Opens the journal's file. Its blocks are allocated, since a write to a page
 * without one ends the process when the disk is full. */
static int
open_file(const char *state_dir, int *out)
{
	const off_t bytes = sizeof(struct marks);
	CLEANUP_FD int fd = -1;
	struct stat st;
	int rc = journal_open(state_dir, MARKS_JOURNAL, &fd);

	if (!rc &&
	    (fstat(fd, &st) || (st.st_size != bytes && ftruncate(fd, 0))))
		rc = -errno;
	if (!rc)
		rc = -posix_fallocate(fd, 0, bytes);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

/* Children parse what targets have: they do not have the marks, by which the
 * next opener acts with all its capabilities. */
static struct marks *
map(int fd)
{
	const size_t bytes = sizeof(struct marks);
	int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, bytes, MADV_DONTFORK)) {
		munmap(p, bytes);
		return NULL;
	}
	return p;
}

struct marks *
marks_open(const char *state_dir, int *out_rc)
{
	char boot_id[BOOT_ID] = "";
	struct marks *m;
	int fd = -1;

	*out_rc = open_file(state_dir, &fd);
	m = map(fd);
	if (!m) {
		close_ptr(&fd);
		return NULL;
	}
	if (journal_boot_id(boot_id) ||
	    memcmp(m->boot_id, boot_id, sizeof(boot_id))) {
		marks_clear(m);
		memcpy(m->boot_id, boot_id, sizeof(boot_id));
	}
	return m;
}

struct marks *
marks_copy(const struct marks *m)
{
	struct marks *copy = malloc(sizeof(*copy));

	if (copy)
		*copy = *m;
	return copy;
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

	assert(n <= ALLOCS_MAX_PLACES);
	if (fstat(file, &st))
		return -errno;
	new.device = st.st_dev;
	new.inode = st.st_ino;
	for (uint32_t i = 0; i < n; i++)
		new.places[i] = (struct mark_place){places[i].offset,
		                                    places[i].counter};
	for (size_t i = 0; i < MARKS_MAX; i++)
		if (!memcmp(&m->all[i], &new, sizeof(new)))
			m->all[i] = (struct mark){0}; /* it is the newest */
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

/* Notes why something could not be tried. Other errors are about the process or
 * the place, which is gone. */
static void
note(struct repair *r, int rc)
{
	static const int lacks[] = {-EPERM,  -EACCES, -EMFILE, -ENFILE,
	                            -ENOMEM, -EINTR,  -EBUSY};

	for (size_t i = 0; i < ARRAY_LEN(lacks) && !r->rc; i++)
		if (rc == lacks[i])
			r->rc = rc;
}

static void
repair_file(struct repair *r, const struct mark *m, int file)
{
	for (uint32_t i = 0; i < m->n && i < ALLOCS_MAX_PLACES; i++)
		note(r, allocs_repair(r->with, file, m->places[i].offset,
		                      m->places[i].counter));
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

	if (statx(folder->fd, name, AT_STATX_DONT_SYNC, STATX_INO, &st)) {
		note(r, -errno);
		return 0;
	}
	device = makedev(st.stx_dev_major, st.stx_dev_minor);
	for (size_t i = 0; i < MARKS_MAX; i++) {
		const struct mark *m = &r->marks->all[i];
		CLEANUP_FD int file = -1;

		if (!m->inode || r->done[i] || m->inode != st.stx_ino ||
		    m->device != device)
			continue;
		file = openat(folder->fd, name,
		              O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (file < 0) {
			note(r, -errno);
			continue;
		}
		repair_file(r, m, file);
		r->done[i] = true;
	}
	return 0;
}

/* A file that no process maps no longer has a breakpoint. A process whose
 * execve(2) waits is skipped: its old memory will be freed. */
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
		if (proc_in_exec(dirfd(proc), pid))
			continue;
		rc = folder_open(dirfd(proc), name, &files);
		note(&r, rc);
		if (!rc)
			(void)!folder_each(dirfd(files), look,
			                   &(struct folder){&r, dirfd(files)});
		rc = 0;
	}
	return rc ?: r.rc;
}
