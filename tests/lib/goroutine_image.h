/*
 * A recording of what is needed to read the goroutines of a process: its
 * executable, and the pieces of its memory that were read. Played back, it
 * acts as a stopped process whose every byte can be changed.
 *
 * Its file, gzipped: struct image_head, the executable, then pieces, each a
 * struct image_piece and its bytes.
 */
#pragma once

#include "capture/host.h"
#include "profile/profile.h"

struct image_head {
	uint64_t bias, elf_bytes;
	uint64_t pc, sp; /* of the thread that ran a goroutine; 0: none */
};

struct image_piece {
	uint64_t addr, bytes;
};

struct image {
	struct image_head head;
	uint8_t *elf;
	struct image_piece *pieces;
	uint8_t **data; /* by piece */
	size_t n;
};

/* Reads what image_write() wrote; -EBADMSG, -ENOMEM, -errno. */
MUST_CHECK int image_read(const char *path, struct image *out);
/* Writes an image, not gzipped. */
MUST_CHECK int image_write(const struct image *m, int fd);
void image_done(struct image *m);
/* Adds the bytes of a piece that are not recorded yet. Errors -ENOMEM */
MUST_CHECK int
image_add(struct image *m, uint64_t addr, const void *p, size_t n);
/* Reads goroutines of the program in m, with a host's answers about a process,
 * like goroutines_add(). */
MUST_CHECK int image_walk(const struct image *m, const struct host *host,
                          int32_t pid, struct profile **out);
/* Returns a host that answers about processes of this machine, and adds the
 * memory that is read to the recording. */
struct host image_recorder(struct image *m);
/* Returns a host that answers about the recorded process. */
struct host image_host(struct image *m);
/* Reads the recorded goroutines, like goroutines_add(). */
MUST_CHECK int image_play(struct image *m, struct profile **out);
