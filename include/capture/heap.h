/*
 * Memory profiles of programs that load libstoker-heap.so, from the counts that
 * the library keeps in their memory: preload/heap_layout.h. The programs are
 * neither stopped nor asked; a child process has separate counts.
 *
 * A memory profile shows what was allocated since the program began and is not
 * freed; it takes one look, at the finish. An alloc profile shows what was
 * allocated between the two looks. All values are estimates; quality.kept is
 * the number of samples.
 *
 * Stacks begin at the function that called the allocator, and have 126 frames
 * at most.
 */
#pragma once

#include "capture/engine.h"

/*
 * Takes memory and alloc profiles. For a process that joins, the profile has
 * all of its counts; for one made by fork(2), the counts since the fork.
 *   Errors   -ENOEXEC no process loads the library
 */
extern const struct engine heap_engine;
