/* Errors that do not mean that the kernel lacks a feature. */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* True for the -errno of a limit of descriptors, which files and BPF objects
 * share. */
static inline bool
is_out_of_files(int rc)
{
	return rc == -EMFILE || rc == -ENFILE;
}

/* True for the -errno of anything that is used up or busy: the same call may
 * succeed later. */
static inline bool
is_shortage(int rc)
{
	return is_out_of_files(rc) || rc == -ENOMEM || rc == -EAGAIN ||
	       rc == -EINTR;
}
