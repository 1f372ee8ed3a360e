#include "profile/kind.h"

#include "base/path.h"
#include "profile/site.h"

#include <errno.h>
#include <string.h>

const struct kind_row kind_rows[KINDS] = {
#define KIND(name, about) {#name, about},
#include "kind.def"
#undef KIND
};

struct pattern {
	enum kind kind;
	const char *text;
};

static const struct pattern names[] = {
#define KIND_NAME(kind, text) {KIND_##kind, text},
#define SITE_ALLOC(text)      {KIND_allocator, text},
#include "kind.def"
#include "site.def"
#undef KIND_NAME
#undef SITE_ALLOC
};
static const struct pattern files[] = {
#define KIND_FILE(kind, text) {KIND_##kind, text},
#define SITE_ALLOC_FILE(text) {KIND_allocator, text},
#include "kind.def"
#include "site.def"
#undef KIND_FILE
#undef SITE_ALLOC_FILE
};
static const struct pattern sources[] = {
#define KIND_SOURCE(kind, text) {KIND_##kind, text},
#include "kind.def"
#undef KIND_SOURCE
};

/* Skips what comes before the qualified name of a function: "<" in Rust, or the
 * return type of a C++ template function. */
static const char *
after_type(const char *name)
{
	size_t n = strcspn(name, "(<");
	const char *space = memrchr(name, ' ', n);

	if (*name == '<')
		return name + strspn(name, "<&_");
	/* "operator new" and "[unknown function]" have no type */
	return space && *name != '[' && strncmp(name, "operator", 8) != 0
	               ? space + 1
	               : name;
}

bool
kind_is_script(const char *source)
{
	static const char *const suffixes[] = {
#define KIND_SCRIPT(suffix) suffix,
#include "kind.def"
#undef KIND_SCRIPT
	};
	static const char *const beginnings[] = {
		"<frozen ", "<string>", "<stdin>", "<internal:", "node:"};
	const char *name = path_name(source), *dot = strrchr(name, '.');

	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (!strncmp(source, beginnings[i], strlen(beginnings[i])))
			return true;
	for (size_t i = 0; dot && i < ARRAY_LEN(suffixes); i++)
		if (!strcmp(dot, suffixes[i]))
			return true;
	/* /usr/bin/certbot, but not /usr/include/c++/12/functional */
	return !dot && *source == '/' && *name && !strstr(source, "/include/");
}

uint32_t
kinds_of(const char *function, const char *file, const char *source)
{
	const char *name = after_type(function);
	const bool script = kind_is_script(source), both = name != function;
	uint32_t bits = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (site_matches(names[i].text, function) ||
		    (both && site_matches(names[i].text, name)))
			bits |= KIND_BIT(names[i].kind);
	for (size_t i = 0; i < ARRAY_LEN(files) && !script; i++)
		if (site_matches(files[i].text, file) ||
		    site_matches(files[i].text, function))
			bits |= KIND_BIT(files[i].kind);
	for (size_t i = 0; *source && i < ARRAY_LEN(sources); i++)
		if (strstr(source, sources[i].text))
			bits |= KIND_BIT(sources[i].kind);
	if (!(bits & KIND_BIT(KIND_kernel)) && !script &&
	    (site_skips(function, file) || (both && site_skips(name, file))))
		bits |= KIND_BIT(KIND_runtime);
	return bits;
}

int
kinds_parse(const char *text, uint32_t *out)
{
	uint32_t bits = 0;

	for (;;) {
		size_t n = strcspn(text, ";"), i = 0;

		while (i < KINDS && (strncmp(kind_rows[i].name, text, n) != 0 ||
		                     kind_rows[i].name[n]))
			i++;
		if (i == KINDS)
			return -EINVAL;
		bits |= KIND_BIT(i);
		if (!text[n])
			break;
		text += n + 1;
	}
	*out = bits;
	return 0;
}

void
kinds_list(const char *between, struct buf *out)
{
	for (size_t i = 0; i < KINDS; i++)
		buf_addf(out, "%s%s", i ? between : "", kind_rows[i].name);
}
