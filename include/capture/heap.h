/*
 * Profiles of memory of programs that load libstoker-heap.so, by the counts
 * that it keeps in their memory: preload/heap_layout.h. The programs are
 * neither stopped nor asked; a child of one counts for itself.
 *
 * A memory profile is what was allocated since a program began and is not
 * freed, and takes one look, at the finish. An alloc profile is what was
 * allocated between the looks. All values are estimates; quality.kept is the
 * number of samples.
 *
 * Stacks begin at the function that called the allocator, and have 126 frames
 * at most.
 */
#pragma once

#include "capture/engine.h"

/*
 * Takes memory and alloc profiles. All that a process counted which joins is in
 * the profile; of a copy that fork(2) made, what it counts from then on.
 *   Errors   -ENOEXEC none loads the library
 */
extern const struct engine heap_engine;
