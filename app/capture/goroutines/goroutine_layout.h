/*
 * Layout of a struct g, and reading one.
 *
 * A program's goroutine 1 shows the layout: its number is 1 and its first
 * function is runtime.main. A version that goroutine_layout.def lacks can
 * therefore be read too, or is known to be unreadable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_MAX_G 512 /* bytes read of struct g */

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
	uint16_t parent; /* 0: the version has none */
	uint16_t gopc, startpc, waiting, labels;
	uint16_t procid;     /* in struct m */
	uint16_t chan, elem; /* in struct sudog */
};

/* A struct g. Addresses and times are the target's. */
struct go_g {
	uint64_t addr, goid, parent;
	uint64_t lo, hi; /* bounds of its stack */
	uint64_t sp, pc; /* where it stopped, unless it runs */
	uint64_t m, waitsince, gopc, startpc, waiting, labels;
	uint8_t status; /* enum go_status */
	uint8_t reason; /* index into the runtime's wait reasons */
	bool locked;    /* locked to its thread */
};

/* True when runtime.main begins at this address. */
typedef bool go_is_main(void *arg, uint64_t addr);

/* Finds the layout of a version; false when there is none. */
bool go_layout_of(unsigned minor, struct go_layout *out);
/*
 * Derives the layout from a struct that may be goroutine 1.
 *
 *   Shape    g[GO_MAX_G], as read at addr
 *   Errors   false: no goroutine 1, or a member is not found, or is ambiguous;
 *            *out untouched
 */
bool go_layout_calibrate(const uint8_t *g, uint64_t addr, unsigned minor,
                         go_is_main *is_main, void *arg, struct go_layout *out);
/*
 * Reads the struct of a goroutine.
 *   Shape    g[l->size], as read at addr
 *   Errors   false: this can't be a goroutine
 */
bool go_g_read(const struct go_layout *l, const uint8_t *g, uint64_t addr,
               struct go_g *out);
/* True when a struct of l->size bytes is a goroutine's, alive or not. */
bool go_layout_fits(const struct go_layout *l, const uint8_t *g, uint64_t addr);
/* True when a goroutine did not run between the two reads. */
bool go_g_same(const struct go_g *a, const struct go_g *b);
/* True for a goroutine that is alive. */
bool go_g_lives(const struct go_g *g);
