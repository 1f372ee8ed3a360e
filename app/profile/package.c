#include "package.h"

#include <stdbool.h>
#include <string.h>

static bool
ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && strcmp(s + n - m, tail) == 0;
}

static bool
starts_with(const char *s, const char *head)
{
	return strncmp(s, head, strlen(head)) == 0;
}

size_t
package_len(const char *name, const char *file)
{
	/* receivers and type arguments hold paths of their own */
	size_t n = strcspn(name, "([{ ");
	const char *slash = memrchr(name, '/', n);
	const char *last = slash ? slash + 1 : name;
	const char *dot = memchr(last, '.', n - (size_t)(last - name));
	bool go = ends_with(file, ".go");

	if (!dot || dot == last)
		return 0;
	if (!*file)
		go = slash || starts_with(name, "main.") ||
		     starts_with(name, "runtime.");
	return go ? (size_t)(dot - name) : 0;
}
