/*
 * Snapshots: the stack of every thread, or goroutine, of a process at one
 * moment, without stopping the process.
 *
 * A waiting thread is read without being stopped; only a thread that runs or
 * keeps changing is stopped, for microseconds and one at a time. The profile
 * has one sample per thread, of type goroutine/count like a Go service's, with
 * the labels of snapshot.def. A snapshot parses data of the target: take it in
 * a child process, so that a crash costs one capture. Results of reading files
 * are added to symbols.
 *
 * Goroutines are read from the Go runtime's structures; this needs no endpoint
 * and no symbols. Their labels are those of goroutine.def, and those that the
 * program sets. Goroutines with equal stacks and labels are one
 * sample, whose value is their number: "goids" lists their ids as far as there
 * is room, "waitSince" and "waitSinceMin" are the longest and the shortest
 * wait. A group that waits for no more than 16 different channels or locks has
 * a sample for each. The first 16384 waiting goroutines have "waitTarget": the
 * channel or, from Go 1.26 on, the lock; a select has none. Goroutines of the
 * runtime itself are left out, as in Go's own profile.
 *
 * Tasks of asyncio that wait have a sample each, below the tasks that await
 * them, with the labels state and waitReason.
 *
 * Stacks begin with the runtime's frames that put the goroutine to sleep
 * (runtime.gopark, ...), as in /debug/pprof/goroutine; profile/analysis leaves
 * these frames out.
 */
#pragma once

#include "capture/engine.h"

#define SNAPSHOT_STACK_BYTES ((uint32_t)16 << 10) /* larger: read again */

/*
 * Takes goroutine profiles: goroutines of Go programs, threads of other
 * programs.
 *   Errors   -ENOEXEC no Go program that can be read, -EPROTO a Go program
 *            whose goroutines can't be found, -E2BIG
 */
extern const struct engine snapshot_engine;
