/* stoker convert: turns a profile into another format, without a server. */
#include "import.h"

#include "base/path.h"
#include "files.h"
#include "places.h"
#include "profile/export.h"
#include "table.h"

#include <errno.h>
#include <string.h>

/* Finds the format by a file name's extension: the longest that fits, since
 * one extension may end with another. */
static const struct format *
format_of_name(const char *file)
{
	const struct format *best = NULL;
	size_t n = strlen(file), longest = 0;

	for (size_t i = 0; i < nformats; i++) {
		const char *end = formats[i].extension;
		size_t len = strlen(end);

		if (len <= longest || n <= len || file[n - len - 1] != '.' ||
		    strcmp(file + n - len, end) != 0)
			continue;
		best = &formats[i];
		longest = len;
	}
	return best;
}

static int
choose_format(const struct cli *c, const struct format **out)
{
	CLEANUP_BUF struct buf known = BUF_INIT(BUF_MAX_SMALL);
	const char *name = c->opt.format;

	*out = name ? format_find(name) : format_of_name(c->operands[1]);
	if (*out)
		return LEAVE_OK;
	for (size_t i = 0; i < nformats; i++)
		buf_addf(&known, "%s%s", i ? ", " : "", formats[i].name);
	return name ? usage_error("--format %s is none of: %s", name,
	                          buf_str(&known))
	            : usage_error("%s does not end as a file of any format: "
	                          "--format takes %s",
	                          c->operands[1], buf_str(&known));
}

/* Makes viewers show the value that --sample-type names first. */
static int
choose_value(const struct cli *c, struct profile *p)
{
	CLEANUP_BUF struct buf known = BUF_INIT(BUF_MAX_SMALL);
	uint32_t at = profile_type_index(p, c->opt.sample_type);

	if (at < p->ntypes) {
		if (c->opt.sample_type)
			p->given_type = p->given_note = 0;
		p->default_type = p->types[at].type;
		return LEAVE_OK;
	}
	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(&known, "%s%s", i ? ", " : "",
		         profile_text(p, p->types[i].type));
	return usage_error("--sample-type %s is none of: %s",
	                   c->opt.sample_type ? c->opt.sample_type : "",
	                   buf_str(&known));
}

/* Returns the type of the value that is shown, or the value's name. */
static const char *
type_shown(const struct cli *c, const struct profile *p)
{
	uint32_t at = profile_type_index(p, NULL);
	const struct type *t =
		import_first_type(import_value_types(p, at, NULL));

	if (c->opt.type && !c->opt.sample_type)
		return c->opt.type;
	return t ? t->name : profile_text(p, p->types[at].type);
}

static int export(const struct cli *c, const struct format *format,
                  const struct profile *p, struct buf *out)
{
	const char *name = path_name(c->operands[0]);
	const struct export_meta meta = {
		.title = name,
		.id = name,
		.service = name,
		.type = type_shown(c, p),
		.time_ms = p->time_ns / 1000000,
		.duration_ms = p->duration_ns / 1000000,
	};
	CLEANUP_TREE struct tree *tree = NULL;
	int rc;

	if (!strcmp(format->name, AUTOFDO) && c->opt.binary.n)
		return places_autofdo(c, p, out);
	rc = tree_new(p, profile_type_index(p, NULL), &tree);

	if (!rc)
		rc = format->write(tree, &meta, out);
	if (rc == -E2BIG)
		return failed(
			"%s: its call tree has more than %u nodes, or its "
			"stacks more than %u frames",
			c->operands[0], TREE_MAX_NODES, TREE_MAX_FRAMES);
	return rc ? failed("%s: %s", c->operands[0],
	                   rc == -EOVERFLOW
	                           ? "the sum of its values exceeds 64 bits"
	                           : strerror(-rc))
	          : LEAVE_OK;
}

int
cmd_convert(struct cli *c)
{
	CLEANUP_BUF struct buf file = BUF_INIT(IMPORT_MAX_FILE);
	CLEANUP_BUF struct buf out = BUF_INIT(IMPORT_MAX_FILE);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct format *format;
	int rc = choose_format(c, &format);

	if (!rc)
		rc = read_named(c->operands[0], &file);
	if (!rc)
		rc = import_local(c, c->operands[0], &file, NULL, &p, NULL);
	if (!rc)
		rc = choose_value(c, p);
	if (!rc)
		rc = export(c, format, p, &out);
	return rc ? rc : write_named(c->operands[1], &out);
}
