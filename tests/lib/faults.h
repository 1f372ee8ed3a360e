/*
 * System calls and allocations that a test may watch, and let fail. A program
 * that links this has its own versions of them, which call those of libc.
 */
#pragma once

/*
 * Called before each of these: open, openat, pread, pwrite, write, sendfile,
 * fsync, syncfs, ftruncate, fchmod, mkdir, mkdirat, unlinkat, rename, renameat,
 * renameat2 and, but for sanitizers, malloc. Returns 0 for the call to go on,
 * else the errno that it fails with. Calls of the hook are not watched.
 *
 *   Shape    path: the last one among the call's arguments, or ""
 */
typedef int fault_hook(void *arg, const char *call, const char *path);
void fault_watch(fault_hook *hook, void *arg);
void fault_rest(void);
