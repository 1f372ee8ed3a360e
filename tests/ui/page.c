/*
 * Prints the folded stacks on stdin in one of formats.def, html unless told,
 * as the server would: browsers and other tools of the tests read it.
 */
#include "base/buf.h"
#include "lib/folded.h"
#include "profile/export.h"

#include <stdio.h>

#define MAX_INPUT 4096
#define CPU       1 /* value type of profile_of() */

static const struct export_meta meta = {
	.title = "shop cpu",
	.id = "sess-1",
	.service = "shop",
	.type = "cpu",
	.time_ms = INT64_C(1768464000123),
	.duration_ms = 5000,
};

int
main(int argc, char **argv)
{
	const struct format *f = format_find(argc > 1 ? argv[1] : "html");
	char text[MAX_INPUT];
	CLEANUP_BUF struct buf page = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;

	text[fread(text, 1, sizeof(text) - 1, stdin)] = '\0';
	p = profile_of(text);
	if (!f || tree_new(p, CPU, &t) || f->write(t, &meta, &page))
		return 1;
	return fwrite(buf_str(&page), 1, page.len, stdout) != page.len;
}
