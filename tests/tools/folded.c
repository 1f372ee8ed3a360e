/*
 * Decodes a pprof file, or a packed one, for scripts: one line per stack, root
 * first, then the number of samples. Reads by the library, not by the worker.
 *
 *	folded FILE
 */
#include "base/file.h"
#include "profile/export.h"
#include "profile/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

static int
print_folded(const char *path, struct buf *why)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_BYTES);
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	struct export_meta meta = {.type = "cpu"};
	uint32_t type = PROFILE_NONE;
	int rc = file_read(AT_FDCWD, path, &bytes);

	if (!rc)
		rc = packed_decode(bytes.p, bytes.len, MAX_BYTES, &k, why)
		             ?: packed_profile(&k, MAX_BYTES, &p);
	if (!rc)
		type = profile_type_index(p, "samples");
	if (!rc && type == PROFILE_NONE)
		type = profile_type_index(p, NULL);
	if (!rc)
		rc = tree_new(p, type, &t);
	if (!rc)
		rc = format_find("folded")->write(t, &meta, &text);
	return rc ? rc : fd_write_all(STDOUT_FILENO, text.p, text.len);
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc = argc == 2 ? print_folded(argv[1], &why) : -EINVAL;

	if (rc)
		fprintf(stderr, "folded: %s: %s\n", strerror(-rc),
		        buf_str(&why));
	return rc ? 1 : 0;
}
