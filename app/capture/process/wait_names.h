/*
 * The innermost frame of a thread that waited says what it waited for: a lock
 * by its address, everything else by a text, "[read file orders.db]". A lock
 * whose holder is known has one more frame, "[held by writer]". Where a lock
 * lies in the data of a program or library is kept too: it may have a symbol
 * there.
 */
#pragma once

#include "capture/waits.h"
#include "process.h"

struct wait_names;

struct wait_names *wait_names_new(void); /* NULL: out of memory */
void wait_names_free(struct wait_names *w);
/*
 * Adds a frame as the innermost of a stack that waited, and one for the thread
 * that held the lock, named holder (NULL: not known). The number of texts is
 * bounded: past WAIT_NAMES_MAX, texts name no files and peers, and further
 * holders are left out.
 */
#define WAIT_NAMES_MAX 4096
void wait_lead(struct wait_names *w, const struct emit_event *e,
               const struct process *proc, const char *holder,
               struct proc_stack *stack);
/*
 * Finds the file in whose data the lock at an address lies; false when that is
 * not known, or when locks of several processes have the address.
 *   Shape    the places of WAIT_LOCKS_MAX locks are kept, the first ones seen
 */
#define WAIT_LOCKS_MAX 1024
MUST_CHECK bool wait_lock_place(const struct wait_names *w, uint64_t address,
                                struct place *out);
/* Forgets the places of locks in modules that are not in use. */
void wait_locks_sweep(struct wait_names *w, const bool *in_use);
/* Adds a frame with a text as the innermost of a stack. */
void wait_put(struct wait_names *w, const char *text, struct proc_stack *stack);
/* Keeps a text for a place of another module, within the same bound; false when
 * there is no room. */
bool wait_keep(struct wait_names *w, const char *text, uint64_t *vaddr);
/* Returns the text of a place in MODULE_WAIT or MODULE_TITLE; "" when there is
 * none. */
const char *wait_name_of(const struct wait_names *w, uint64_t vaddr);
