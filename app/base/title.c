#include "base/title.h"

#include "base/path.h"

#include <string.h>

static const struct {
	const char *program, *language;
} interpreters[] = {
#define INTERPRETER(program, language) {program, language},
#include "interpreter.def"
#undef INTERPRETER
};

/* True for a program's name, which a version may follow: "python3.11", but not
 * "node_exporter". */
static bool
is_called(const char *name, const char *program)
{
	size_t n = strlen(program);

	return !strncmp(name, program, n) &&
	       (!name[n] || strchr("0123456789.-", name[n]));
}

const char *
title_language(const char *exe)
{
	const char *name = path_name(exe);

	for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
		if (is_called(name, interpreters[i].program))
			return interpreters[i].language;
	return "";
}

bool
title_is_unit(const char *unit)
{
	static const char end[] = ".service";
	size_t n = strlen(unit), k = strlen(end);

	return n > k && !strcmp(unit + n - k, end) &&
	       strncmp(unit, "user@", 5) != 0;
}

size_t
title_script(const struct title_facts *f)
{
	const char *space = strchr(f->command, ' ');

	if (!*title_language(f->exe) || !space || !space[1] || space[1] == '-')
		return 0;
	return (size_t)(space - f->command) + 1 + strcspn(space + 1, " ");
}

void
title_put(const struct title_facts *f, struct buf *out)
{
	size_t n = title_script(f), word = strcspn(f->command, " ") + 1;

	if (title_is_unit(f->unit))
		buf_puts(out, f->unit);
	else if (n)
		buf_add(out, f->command + word, n - word);
	else
		buf_add(out, f->exe, proc_path_len(f->exe));
}
