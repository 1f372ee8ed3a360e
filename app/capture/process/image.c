#include "image.h"

#include "capture/host/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK ((uint64_t)16 << 20) /* bytes read at once */

/* Mappings of one file. */
struct mapped {
	struct map_seen rows[IMAGE_MAX_MAPS];
	size_t n;
};

/* Finds the mappings of the file that is mapped at seen->start. */
static int
find_mapped(const struct map_seen *rows, size_t n, const struct map_seen *seen,
            struct mapped *out)
{
	const struct map_seen *at = NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; i < n && !at; i++)
		if (rows[i].start <= seen->start && seen->start < rows[i].end)
			at = &rows[i];
	if (!at || strncmp(at->path, seen->path, strlen(seen->path)) != 0 ||
	    (seen->inode && seen->inode != at->inode))
		return -ESTALE;
	for (size_t i = 0; i < n; i++) {
		if (!maps_same_file(&rows[i], at))
			continue;
		bytes += rows[i].end - rows[i].start;
		if (out->n == IMAGE_MAX_MAPS || bytes > IMAGE_MAX ||
		    rows[i].offset > IMAGE_MAX)
			return -E2BIG;
		out->rows[out->n++] = rows[i];
	}
	return out->n ? 0 : -ESTALE;
}

/* Copies memory into a file. Pages that can't be read become a hole. */
static int
copy(const struct memory *m, uint64_t from, uint64_t n, int fd, uint64_t to)
{
	for (uint64_t done = 0; done < n; done += CHUNK) {
		CLEANUP(memory_batch_done) struct memory_batch batch = {.n = 0};
		struct memory_piece p = {
			.addr = from + done,
			.len = (uint32_t)(n - done < CHUNK ? n - done : CHUNK),
		};
		int rc = memory_read(m, &p, 1, &batch);

		if (rc)
			return rc;
		if (p.got && pwrite(fd, p.p, p.got, (off_t)(to + done)) !=
		                     (ssize_t)p.got)
			return -ENOSPC;
	}
	return 0;
}

/* Writes the mapped parts of a file to the same offsets of another file. The
 * last mapping is written first: it holds data, which the program changes, and
 * shares a page with the mapping before it. */
static int
write_mapped(const struct host *host, int32_t pid, const struct mapped *from,
             int fd)
{
	CLEANUP(memory_spare_done) struct memory_spare spare = {.n = 0};
	const struct memory m = {host, pid, &spare};
	int rc = 0;

	for (size_t i = from->n; i-- && !rc;) {
		const struct map_seen *row = &from->rows[i];

		rc = copy(&m, row->start, row->end - row->start, fd,
		          row->offset);
	}
	return rc;
}

static int
open_copy(int fd, struct elf_image **out)
{
	CLEANUP_FD int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int rc = own < 0 ? -errno : elf_open_fd(own, out);

	if (!rc)
		TAKE_FD(own);
	return rc;
}

/* Removes section headers unless they are the file's: the rest of the last
 * data page holds the program's own data. */
static int
check_sections(int fd, const struct elf_image *e)
{
	const uint64_t none = 0;

	if (e->no_headers || elf_section(e, ".shstrtab"))
		return 0;
	return pwrite(fd, &none, sizeof(none), offsetof(Elf64_Ehdr, e_shoff)) ==
	                       sizeof(none)
	               ? 0
	               : -EIO;
}

/*
 * Changes the addresses in the dynamic section back to those of the file.
 *   Source   glibc's sysdeps/generic/ldsodefs.h, D_PTR; elf/get-dynamic-info.h
 */
static int
unrelocate(int fd, const struct elf_image *e, uint64_t bias)
{
	const struct elf_segment *s = elf_segment(e, PT_DYNAMIC, 0);
	struct elf_dynamic d;
	uint64_t at, left;

	elf_dynamic(e, &d);
	for (size_t i = 0; i < d.n; i++)
		switch (d.rows[i].d_tag) {
		case DT_SYMTAB:
		case DT_STRTAB:
		case DT_HASH:
		case DT_GNU_HASH:
			if (elf_offset_of(e, d.rows[i].d_un.d_ptr - bias, &at,
			                  &left))
				d.rows[i].d_un.d_ptr -= bias;
		}
	if (!d.n)
		return 0;
	return pwrite(fd, d.rows, d.n * sizeof(*d.rows), (off_t)s->offset) ==
	                       (ssize_t)(d.n * sizeof(*d.rows))
	               ? 0
	               : -EIO;
}

/* Undoes in the copy what the dynamic linker changed. */
static int
restore(int fd, const struct mapped *from)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	uint64_t vaddr;
	int rc = open_copy(fd, &e);

	if (!rc)
		rc = check_sections(fd, e);
	for (size_t i = 0; i < from->n && !rc; i++)
		if (!from->rows[i].offset && elf_vaddr_of(e, 0, &vaddr))
			return unrelocate(fd, e, from->rows[i].start - vaddr);
	return rc;
}

int
image_of_memory(const struct host *host, int32_t pid,
                const struct map_seen *seen, struct elf_image **out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAPS_MAX_TEXT);
	CLEANUP_FREE struct map_seen *rows = NULL;
	CLEANUP_FREE struct mapped *mapped = calloc(1, sizeof(*mapped));
	CLEANUP_FD int fd = memfd_create("stoker-image", MFD_CLOEXEC);
	uint32_t threads;
	size_t n;
	int rc = maps_text(host, pid, &text, &threads);

	if (rc)
		return rc;
	if (fd < 0 || !mapped)
		return -ENOMEM;
	rc = maps_split(text.p, &rows, &n);
	if (!rc)
		rc = find_mapped(rows, n, seen, mapped);
	if (!rc)
		rc = write_mapped(host, pid, mapped, fd);
	if (!rc)
		rc = restore(fd, mapped);
	return rc ? rc : open_copy(fd, out);
}
