/*
 * The memory that a BPF program shares with the reader of its samples, and the
 * data of each sample.
 *
 * Such a program looks at every event of the followed processes, a wait or an
 * allocation, and keeps each with a probability in proportion to its size: an
 * event of size d is kept with the probability d / mean, where mean is that of
 * its class, and then stands for mean. An event larger than mean is always
 * kept, and stands for itself. Sums over many events are exact on average,
 * however the sizes vary.
 */
#pragma once

#include <stdint.h>

enum emit_class {
	EMIT_LOCK,  /* waits for a lock */
	EMIT_FUTEX, /* other waits in futex(2): for a lock if a function of one
	               is in the stack */
	EMIT_IO,    /* waits for a file, a pipe or a peer */
	EMIT_OTHER, /* other waits */
	EMIT_CLASSES,
	EMIT_ALLOC = EMIT_CLASSES /* allocations of memory */
};

/* The value of the map control: this, then a bit for each process, in words of
 * 64 bits; a bit is set if its process is followed. */
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

#define EMIT_SCALE 1024u /* the unit of a scale: this stands for 1 */
#define EMIT_NAME  40    /* bytes of a file's name, with a NUL */

/* An event that was kept, as part of its sample. If the thread has an
 * interpreter or a context, a struct interp_stack follows, cut after them. */
struct emit_event {
	uint64_t size;    /* ns, or bytes of memory */
	uint64_t mean;    /* of the class, when the event was kept */
	uint64_t address; /* of the lock */
	int64_t result;   /* of the system call */
	int32_t call;     /* its number; negative: a page fault */
	uint16_t class;   /* enum emit_class */
	uint16_t file;    /* enum emit_file */
	uint16_t family;  /* of a socket with a peer: AF_INET, AF_INET6; or 0 */
	uint16_t port;    /* its peer's, in network order */
	/* The thread that held the lock when the wait began, as numbered in the
	 * process's pid namespace; read from its memory; 0: unknown. */
	uint32_t holder;
	/* A lower and an upper bound of the calls that this one stands for: its
	 * process was not always watched. In units of 1 / EMIT_SCALE. */
	uint64_t scale, most_scale;
	uint8_t peer[16];     /* its peer's address */
	char name[EMIT_NAME]; /* of the file, NUL-terminated; "": none */
};

/* Processes whose allocations the programs of allocs.h watch. Both structs are
 * values of maps, by slot. */
#define EMIT_SLOTS 256
#define EMIT_STEP  32 /* samples after which the mean doubles */
struct emit_calls {
	uint64_t calls, bytes; /* since the program was loaded */
	uint64_t costly; /* calls that cost more: those that became samples, or
	                  whose returns were watched */
};
struct emit_slot {
	uint64_t scale; /* of samples from now on; 0: take none */
	uint64_t most_scale;
	int64_t scaled; /* calls from now on that have this scale, not 1 */
	uint64_t mean;  /* bytes; doubles after each EMIT_STEP samples */
	uint64_t taken; /* samples since the last look */
	/* Set if the process was watched only once: the most bytes that it can
	 * have allocated since, plus 1; no sample stands for them. */
	uint64_t left;
	/* When watching the process began, and when it was last looked at;
	 * CLOCK_MONOTONIC; 0: not yet. */
	uint64_t began_ns, looked_ns;
	int32_t pid;
	/*
	 * Thousandths of the calls seen that belong to bursts whose beginning
	 * alone was watched.
	 */
	uint32_t cut;
	/* Thousandths of the calls seen that the process made while it did
	 * nothing else: how many it makes unwatched is then unknown. */
	uint32_t saturated;
	uint32_t reserved;
};
