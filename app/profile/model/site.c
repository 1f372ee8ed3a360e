#include "profile/site.h"

#include "base/cleanup.h"

#include <stddef.h>
#include <string.h>

static const char *const functions[] = {
#define SITE_SKIP(function)  function,
#define SITE_ALLOC(function) function,
#include "site.def"
#undef SITE_SKIP
#undef SITE_ALLOC
};
static const char *const files[] = {
#define SITE_FILE(file)       file,
#define SITE_ALLOC_FILE(file) file,
#include "site.def"
#undef SITE_FILE
#undef SITE_ALLOC_FILE
};
static const char *const interpreters[] = {
#define OF_interpreter(file) file,
#define OF_kernel(file)
#define OF_async(file)
#define OF_boost(file)
#define KIND_FILE(kind, file) OF_##kind(file)
#include "kind.def"
#undef KIND_FILE
};

bool
site_matches_rest(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n > 3 && !strcmp(pattern + n - 3, "..."))
		return !strncmp(pattern, name, n - 3);
	return n && !strcmp(pattern, name);
}

/* True for the path of a type or trait of Rust's library, maybe borrowed. */
static bool
is_of_rust(const char *path)
{
	static const char *const crates[] = {"std::", "core::", "alloc::"};

	path += strspn(path, "<&[(");
	if (!strncmp(path, "mut ", 4))
		path += 4;
	for (size_t i = 0; i < ARRAY_LEN(crates); i++)
		if (!strncmp(path, crates[i], strlen(crates[i])))
			return true;
	return false;
}

/* True for a method of Rust's library, such as <std::io::Stdin>::read or
 * <alloc::vec::Vec<T> as core::clone::Clone>::clone: both the type and the
 * trait must be the library's. */
static bool
is_rust_method(const char *name)
{
	unsigned depth = 0;

	if (*name != '<' || !is_of_rust(name))
		return false;
	for (const char *at = name; *at; at++) {
		depth += *at == '<';
		depth -= *at == '>' && at[-1] != '-';
		if (!depth)
			break;
		if (depth == 1 && !strncmp(at, " as ", 4))
			return is_of_rust(at + 4);
	}
	return true;
}

static bool
is_unnamed(const char *function)
{
	return strstr(function, "+0x");
}

bool
site_is_part(const char *function, const char *caller)
{
	return is_unnamed(function) && !strstr(caller, "::");
}

bool
site_skips(const char *function, const char *file)
{
	if (is_rust_method(function))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (site_matches(functions[i], function))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (site_matches(files[i], file) ||
		    site_matches(files[i], function))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
		if (site_matches(interpreters[i], file) ||
		    (is_unnamed(function) &&
		     site_matches(interpreters[i], function)))
			return true;
	return false;
}
