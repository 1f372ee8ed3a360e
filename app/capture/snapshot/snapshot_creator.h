/*
 * Finds the function that a thread began with, which identifies the thread: the
 * outermost one outside of the C library. Most hosts lack the library's debug
 * file; functions that start threads, such as start_thread(), then have no name
 * and are recognized by their place.
 */
#pragma once

#include "profile/profile.h"

/*
 *   Shape    stack[n]: locations in p, leaf first, whole. In a program without
 *            names and libraries, which is linked statically and stripped, the
 *            two outermost are skipped: this is right for glibc's threads, but
 *            its main thread has a third
 *   Returns  a text of p; "" when there is no such function
 */
const char *
snapshot_creator(const struct profile *p, const uint32_t *stack, uint32_t n);
