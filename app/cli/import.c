#include "import.h"

#include "capture/local.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ROWS  (1u << 26)
#define MAX_RATIO 10000
#define RECORDING "perfdata"

static bool
is_recording(const struct buf *file)
{
	return input_find(RECORDING)->looks(buf_str(file), file->len);
}

bool
import_is_local(const struct cli *c, const struct buf *file)
{
	return c->opt.binary.n || is_recording(file);
}

int
import_binaries(const struct cli *c, struct local_files *files)
{
	for (size_t i = 0; i < c->opt.binary.n; i++) {
		int rc = local_files_add(files, c->opt.binary.p[i]);

		if (rc)
			return failed("%s: %s", c->opt.binary.p[i],
			              rc == -ENOEXEC
			                      ? "not a program or library"
			                      : strerror(-rc));
	}
	return LEAVE_OK;
}

static int
name_frames(struct local_files *files, const char *name, bool here,
            struct profile **p)
{
	struct profile *named;
	struct local_names found;
	int rc = local_name(files, *p, &named, &found);

	if (rc)
		return failed("%s: %s", name, strerror(-rc));
	profile_free(*p);
	*p = named;
	if (found.used < found.mappings)
		fprintf(stderr,
		        "note: %u of %u programs and libraries were not found "
		        "%s, so their functions have no names%s\n",
		        found.mappings - found.used, found.mappings,
		        here ? "on this machine"
		             : "at the paths given by --binary",
		        here ? "; --binary can name the files" : "");
	return LEAVE_OK;
}

int
import_local(struct cli *c, const char *name, const struct buf *file,
             const char *format, struct profile **out, const struct type **type)
{
	CLEANUP_LOCAL_FILES struct local_files *files =
		local_files_new(is_recording(file));
	CLEANUP_LOCAL_STACKS struct local_stacks *stacks =
		files ? local_stacks_new(files) : NULL;
	struct import_unwinder unwinder;
	const struct import_ask ask = {
		.type = c->opt.type ? c->opt.type : "",
		.content_type = "",
		.format = format,
		.event = c->opt.event,
		.rate = c->opt.rate > 0 ? (double)c->opt.rate : 0,
		.deltas = true,
		.untyped = !type,
		.unwinder = &unwinder,
		.limits = {.raw_bytes = 2 * IMPORT_MAX_FILE,
	                   .memory = 4 * IMPORT_MAX_FILE,
	                   .ratio = MAX_RATIO,
	                   .strings = MAX_ROWS,
	                   .samples = MAX_ROWS},
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct input *as;
	const struct type *of;
	int rc;

	if (!stacks)
		return failed("out of memory");
	rc = import_binaries(c, files);
	if (rc)
		return rc;
	unwinder = local_unwinder(stacks);
	if (profile_import(buf_str(file), file->len, &ask, &p, &as, &of, &why))
		return failed("%s: %s", name, buf_str(&why));
	if (c->opt.seconds > 0 && !p->duration_ns)
		p->duration_ns = c->opt.seconds * INT64_C(1000000000);
	if (why.len)
		fprintf(stderr, "note: %s%s", buf_str(&why),
		        why.p[why.len - 1] == '\n' ? "" : "\n");
	if (import_is_local(c, file))
		rc = name_frames(files, name, is_recording(file), &p);
	if (rc)
		return rc;
	if (type)
		*type = of;
	*out = TAKE(p);
	return LEAVE_OK;
}
