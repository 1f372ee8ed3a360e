/*
 * The memory that a program in the kernel shares with who reads its samples,
 * and what it tells with each.
 *
 * Such a program looks at every event of the followed processes, a wait or an
 * allocation, and keeps each with a probability in proportion to its size, up
 * to the class's mean: an event of d is kept with the probability d / mean, and
 * then stands for mean; a larger one is always kept, and stands for itself.
 * Sums over many events are exact on average, however the sizes vary.
 */
#pragma once

#include <stdint.h>

enum emit_class {
	EMIT_LOCK,  /* waits for a lock */
	EMIT_IO,    /* waits for a file, a pipe or a peer */
	EMIT_OTHER, /* other waits */
	EMIT_CLASSES,
	EMIT_ALLOC = EMIT_CLASSES /* of memory */
};

/* The map's value: this, then a bit for each process that is followed, in words
 * of 64 bits. */
struct emit_control {
	uint64_t mean[EMIT_CLASSES]; /* ns */
	uint64_t least;              /* smaller events are left out; ns */
};

enum emit_file {
	EMIT_NO_FILE,
	EMIT_REGULAR,
	EMIT_DIRECTORY,
	EMIT_DEVICE,
	EMIT_PIPE,
	EMIT_SOCKET,
	EMIT_OTHER_FILE,
};

#define EMIT_SCALE 1024u /* stands for just its own time */
#define EMIT_NAME  40    /* bytes of a file's name, with a NUL */

/* An event that was kept; it comes with its sample, and behind it, where the
 * thread has an interpreter, a struct interp_stack without the frames that it
 * has not.
 */
struct emit_event {
	uint64_t size;    /* ns, or bytes of memory */
	uint64_t mean;    /* when it was kept */
	uint64_t address; /* of the lock */
	int64_t result;   /* of the system call */
	int32_t call;     /* its number; negative: a page fault */
	uint16_t class;   /* enum emit_class */
	uint16_t file;    /* enum emit_file */
	uint16_t family;  /* of a socket with a peer: AF_INET, AF_INET6; or 0 */
	uint16_t port;    /* its peer's, in network order */
	/* The thread that had the lock when the wait began, as the process
	 * numbers it, by what the process says; 0: not known. */
	uint32_t holder;
	/* How much longer than the time in which it could be seen the time is
	 * that it stands for, in parts of EMIT_SCALE. */
	uint64_t scale;
	uint8_t peer[16];     /* its peer's address */
	char name[EMIT_NAME]; /* of the file, NUL-terminated; "": none */
};

/* A process whose allocations are watched by the programs of allocs.h; this is
 * the value of a map by the number of its slot. */
#define EMIT_SLOTS 256
struct emit_calls {
	uint64_t calls, bytes; /* since the program was loaded */
	uint64_t told; /* calls that cost more: it told of them, and watched
	                  their returns, too, where it does */
};
struct emit_slot {
	uint64_t scale; /* of what is told from now on; 0: nothing is */
	uint64_t mean;  /* bytes */
};
