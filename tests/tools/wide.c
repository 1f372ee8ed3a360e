/*
 * Writes a profile in which all stacks differ.
 *
 * 	wide SEED STACKS DEPTH NAMES >FILE
 */
#include "lib/wide.h"
#include "base/file.h"
#include "profile/pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)256 << 20)

int
main(int argc, char **argv)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_BYTES);

	if (argc != 5) {
		fputs("usage: wide SEED STACKS DEPTH NAMES\n", stderr);
		return 2;
	}
	p = wide_profile(strtoull(argv[1], NULL, 10), (unsigned)atoi(argv[2]),
	                 (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
	if (p && !pprof_encode(p, &out) &&
	    !fd_write_all(STDOUT_FILENO, out.p, out.len))
		return 0;
	perror("wide");
	return 1;
}
