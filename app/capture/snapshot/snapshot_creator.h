/*
 * The function that a thread began with, which tells who it is: the outermost
 * that is not the C library's. Most hosts lack that library's debug file; what
 * starts threads there, start_thread() above all, has no name then and is
 * told by where it is.
 */
#pragma once

#include "profile/profile.h"

/*
 *   Shape    stack[n]: locations in p, leaf first, whole. Of a program with
 *            neither names nor a library, one that is linked statically and
 *            stripped, the two outermost are passed over: right for threads
 *            of glibc, whose main one has a third there
 *   Returns  a text of p; "" when there is no such function
 */
const char *
snapshot_creator(const struct profile *p, const uint32_t *stack, uint32_t n);
