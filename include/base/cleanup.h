/*
 * Ownership: locals clean themselves up, and TAKE moves ownership out of one.
 *
 *	CLEANUP(free_ptr) char *name = NULL;
 *	...
 *	*out = TAKE(name);
 *
 * Destructors accept NULL and half-built objects, so a cleanup local is
 * declared with its empty value and filled later. Source: systemd's _cleanup_
 * and TAKE_PTR.
 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn)    __attribute__((cleanup(fn)))
#define MUST_CHECK     __attribute__((warn_unused_result))
#define PRINTF(fmt, a) __attribute__((format(printf, fmt, a)))
#define ARRAY_LEN(a)   (sizeof(a) / sizeof((a)[0]))

/* Leaves zero: for pointers, and for structs whose empty value is {0}. */
#define TAKE(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = (__typeof__(p)){0};   \
		taken_;                     \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

/* Defines fn_ptr(T **), the cleanup form of a destructor fn(T *). */
#define DEFINE_CLEANUP(T, fn)             \
	static inline void fn##_ptr(T *p) \
	{                                 \
		fn(*p);                   \
	}

/* Takes the address of a pointer; frees what the pointer points to and sets it
 * to NULL. */
static inline void
free_ptr(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

/* Closes *fd unless it is negative, and sets *fd to -1. */
static inline void
close_ptr(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#define CLEANUP_FREE CLEANUP(free_ptr)
#define CLEANUP_FD   CLEANUP(close_ptr)
