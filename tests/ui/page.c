/*
 * Prints the folded stacks on stdin in a format of formats.def, html by
 * default, as the server would; browsers and other tools of the tests read it.
 * A second argument names a file of folded stacks to compare with.
 */
#include "base/buf.h"
#include "lib/folded.h"
#include "profile/diff.h"

#include <stdio.h>

#define INPUT_MAX 65536
#define CPU       1 /* value type of profile_of() */

static const struct export_meta meta = {
	.title = "shop cpu",
	.id = "sess-1",
	.service = "shop",
	.type = "cpu",
	.time_ms = INT64_C(1768464000123),
	.duration_ms = 5000,
	.quality = "{\"verdict\":\"poor\",\"reasons\":[\"no function has a "
		   "name\"],\"notes\":[\"records were lost\"]}",
};

static struct profile *
read_folded(FILE *f)
{
	static char text[INPUT_MAX];

	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	return profile_of(text);
}

static int
write_diff(const struct diff_format *f, const struct tree *base,
           const struct tree *now, struct buf *out)
{
	const struct compare_side sides[] = {{.tree = base, .seconds = 5},
	                                     {.tree = now, .seconds = 5}};
	CLEANUP_COMPARISON struct comparison *c = NULL;
	CLEANUP_DIFF struct diff *d = NULL;

	if (compare_new(&sides[0], &sides[1], false, COMPARE_BY_RATE, &c) ||
	    diff_new(&sides[0], &sides[1], c, &d))
		return 1;
	return f->write(d, &(struct diff_meta){meta, meta, c, DIFF_AFTER}, out);
}

/* Like write(), compared with a base. */
static int
diff_with(const char *path, const char *format, const struct tree *now,
          struct buf *out)
{
	FILE *f = fopen(path, "re");
	CLEANUP_PROFILE struct profile *p = f ? read_folded(f) : NULL;
	CLEANUP_TREE struct tree *base = NULL;

	if (f)
		fclose(f);
	return !p || tree_new(p, CPU, &base) ||
	       write_diff(diff_format_find(format), base, now, out);
}

int
main(int argc, char **argv)
{
	const struct format *f = format_find(argc > 1 ? argv[1] : "html");
	CLEANUP_BUF struct buf page = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;

	p = read_folded(stdin);
	if (!f || tree_new(p, CPU, &t) ||
	    (argc > 2 ? diff_with(argv[2], argv[1], t, &page)
	              : f->write(t, &meta, &page)))
		return 1;
	return fwrite(buf_str(&page), 1, page.len, stdout) != page.len;
}
