/*
 * System calls and allocations that a test may watch, and let fail. A program
 * that links this has separate versions of them, which call libc's.
 */
#pragma once

/*
 * Called before each of these: open, openat, pread, pwrite, write, sendfile,
 * fsync, syncfs, ftruncate, fchmod, mkdir, mkdirat, unlinkat, rename, renameat,
 * renameat2 and, but for sanitizers, malloc. Returns 0 to let the call
 * proceed, else the errno with which it fails. The hook's own calls are not
 * watched.
 *
 *   Shape    path: the last one among the call's arguments, or ""
 */
typedef int fault_hook(void *arg, const char *call, const char *path);
void fault_watch(fault_hook *hook, void *arg);
void fault_rest(void);
