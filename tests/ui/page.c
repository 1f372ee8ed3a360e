/*
 * Prints the flame graph page of the folded stacks on stdin, as the server
 * would: the browser test opens it.
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
main(void)
{
	char text[MAX_INPUT];
	CLEANUP_BUF struct buf page = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;

	text[fread(text, 1, sizeof(text) - 1, stdin)] = '\0';
	p = profile_of(text);
	if (tree_new(p, CPU, &t))
		return 1;
	if (format_find("html")->write(t, &meta, &page))
		return 1;
	return fwrite(buf_str(&page), 1, page.len, stdout) != page.len;
}
