#include "base/unit.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const types[] = {
	"automount", "device", "mount", "path",   "scope", "service",
	"slice",     "socket", "swap",  "target", "timer",
};

static bool
has_type(const char *name, size_t n)
{
	const char *dot = memrchr(name, '.', n);
	size_t len = dot ? (size_t)(name + n - dot - 1) : 0;

	for (size_t i = 0; i < ARRAY_LEN(types) && dot; i++)
		if (strlen(types[i]) == len && !memcmp(dot + 1, types[i], len))
			return true;
	return false;
}

bool
unit_has_type(const char *name)
{
	return has_type(name, strlen(name));
}

static bool
is_instance(const char *name, size_t n, const char *unit)
{
	const char *at = memchr(name, '@', n);
	size_t before = at ? (size_t)(at - name) + 1 : 0, after = n - before;
	size_t len = strlen(unit);

	return at && at[1] == '.' && len > n && !memcmp(name, unit, before) &&
	       !memcmp(at + 1, unit + len - after, after);
}

static bool
means(const char *name, size_t n, const char *unit)
{
	if (strlen(unit) == n && !memcmp(name, unit, n))
		return true;
	if (!has_type(name, n))
		return !strncmp(name, unit, n) && !strcmp(unit + n, ".service");
	return is_instance(name, n, unit);
}

bool
unit_means(const char *name, const char *unit)
{
	return means(name, strlen(name), unit);
}

bool
unit_list_means(const char *names, const char *unit)
{
	size_t n;

	if (!strcmp(names, "*"))
		return true;
	for (; *(names += strspn(names, " ")); names += n) {
		n = strcspn(names, " ");
		if (means(names, n, unit))
			return true;
	}
	return false;
}
