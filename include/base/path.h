/*
 * Paths of files, and paths as /proc shows them.
 */
#pragma once

#include <string.h>

/* Returns the last name of a path; "" if it ends with a slash. */
static inline const char *
path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns the length of a path without " (deleted)", which the kernel appends
 * once the file was unlinked or replaced.
 *   Source   proc_pid_exe(5), proc_pid_maps(5)
 */
static inline size_t
proc_path_len(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), k = strlen(mark);

	return n > k && !strcmp(path + n - k, mark) ? n - k : n;
}
