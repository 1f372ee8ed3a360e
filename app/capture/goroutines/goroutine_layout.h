/*
 * Where things lie in a struct g, and reading one.
 *
 * A program's own goroutine 1 tells where: its number is 1 and it began at
 * runtime.main. So a version that is not in goroutine_layout.def is read too,
 * or is known not to be readable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_MAX_G 512 /* bytes of struct g that are looked at */

/* Numbers of g.atomicstatus. Source: runtime/runtime2.go */
enum go_status {
	GO_IDLE,
	GO_RUNNABLE,
	GO_RUNNING,
	GO_SYSCALL,
	GO_WAITING,
	GO_MORIBUND,
	GO_DEAD,
	GO_ENQUEUE,
	GO_COPYSTACK,
	GO_PREEMPTED,
	GO_LEAKED,
	GO_DEADEXTRA,
	GO_STATUSES
};

struct go_layout {
	uint16_t size; /* bytes of struct g to read */
	uint16_t syscallsp, status, goid, waitsince, waitreason, lockedm;
	uint16_t parent; /* 0: it is not kept */
	uint16_t gopc, startpc, waiting, labels;
	uint16_t procid;     /* of struct m */
	uint16_t chan, elem; /* of struct sudog */
};

/* A struct g. Addresses and times are the target's. */
struct go_g {
	uint64_t addr, goid, parent;
	uint64_t lo, hi; /* of its stack */
	uint64_t sp, pc; /* where it stands, unless it is running */
	uint64_t m, waitsince, gopc, startpc, waiting, labels;
	uint8_t status; /* enum go_status */
	uint8_t reason; /* index of the runtime's wait reasons */
	bool locked;    /* to its thread */
};

/* True when runtime.main begins at this address. */
typedef bool go_is_main(void *arg, uint64_t addr);

/* The row of a version; false: there is none. */
bool go_layout_of(unsigned minor, struct go_layout *out);
/*
 * Works it out of what may be goroutine 1.
 *
 *   Shape    g[GO_MAX_G], as read at addr
 *   Errors   false: this is no goroutine 1, or not all is found, or there
 *            are two ways to read it; *out untouched
 */
bool go_layout_calibrate(const uint8_t *g, uint64_t addr, unsigned minor,
                         go_is_main *is_main, void *arg, struct go_layout *out);
/*
 * Reads the struct of a goroutine.
 *   Shape    g[l->size], as read at addr
 *   Errors   false: it can't be one
 */
bool go_g_read(const struct go_layout *l, const uint8_t *g, uint64_t addr,
               struct go_g *out);
/* Whether a struct of l->size bytes is a goroutine's, whatever that does. */
bool go_layout_fits(const struct go_layout *l, const uint8_t *g, uint64_t addr);
/* Whether it stood still between the two. */
bool go_g_same(const struct go_g *a, const struct go_g *b);
/* Whether there is anything to tell of it. */
bool go_g_lives(const struct go_g *g);
