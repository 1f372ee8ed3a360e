#include "jit_names.h"

#include <stdbool.h>
#include <string.h>

/* Kinds of script code, and names for code without one. */
static const struct {
	const char *start, *unnamed;
} kinds[] = {
	{"JS:", "(anonymous)"},       {"LazyCompile:", "(anonymous)"},
	{"Function:", "(anonymous)"}, {"Eval:", "(eval)"},
	{"Script:", "(script)"},
};

/* Beginnings of source names, which V8 puts after a blank; names of functions
 * can contain blanks, too ("get size"). */
static const char *const files[] = {
	" /",     " file:",  " node:",       " internal/",
	" http:", " https:", " evalmachine."};

static char *
after(char *text, const char *start)
{
	size_t n = strlen(start);

	return strncmp(text, start, n) ? NULL : text + n;
}

/* Cuts off the digits that end text, and the colon before them. */
static bool
cut_number(char *text, uint32_t *out)
{
	char *colon = strrchr(text, ':');
	char *at = colon ? colon + 1 : NULL;
	uint32_t v = 0;

	if (!at || !*at || strlen(at) > 9)
		return false;
	for (; *at; at++) {
		if (*at < '0' || *at > '9')
			return false;
		v = v * 10 + (uint32_t)(*at - '0');
	}
	*colon = '\0';
	*out = v;
	return true;
}

static char *
file_in(char *text)
{
	char *first = NULL, *at;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		at = strstr(text, files[i]);
		if (at && (!first || at < first))
			first = at;
	}
	return first ? first : strrchr(text, ' ');
}

/* Skips V8's mark of the tier: ~ interpreter, ^ baseline, + and * optimized, '
 * and o for loops. */
static char *
skip_tier(char *text)
{
	if (text[0] == 'o' && (text[1] == '+' || text[1] == '*'))
		text++;
	if (*text && strchr("~^+*", *text))
		text++;
	return *text == '\'' ? text + 1 : text;
}

/* Removes what V8 appends to WebAssembly names: the function's number and tier,
 * as in "-12-turbofan". */
static void
cut_wasm(char *text)
{
	char *tier = strrchr(text, '-'), *end = tier;

	if (!tier ||
	    (strcmp(tier, "-liftoff") != 0 && strcmp(tier, "-turbofan") != 0))
		return;
	while (end > text && end[-1] >= '0' && end[-1] <= '9')
		end--;
	if (end < tier && end - 1 > text && end[-1] == '-')
		end[-1] = '\0';
}

static void
split_script(char *text, const char *unnamed, struct jit_name *out)
{
	uint32_t column;
	char *file;

	text = skip_tier(text);
	cut_wasm(text);
	if (cut_number(text, &column) && !cut_number(text, &out->line))
		out->line = column;
	file = file_in(text);
	if (file) {
		*file++ = '\0';
		out->file = after(file, "file://") ? file + 7 : file;
	}
	out->name = *text ? text : unnamed;
}

static void
split_python(char *text, struct jit_name *out)
{
	char *colon = strchr(text, ':');

	out->name = text;
	if (!colon || colon == text)
		return;
	*colon = '\0';
	out->file = colon + 1;
}

void
jit_name_split(char *text, struct jit_name *out)
{
	char *rest = after(text, "py::");

	*out = (struct jit_name){.name = text, .file = ""};
	if (rest && *rest)
		split_python(rest, out);
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !rest; i++) {
		rest = after(text, kinds[i].start);
		if (rest)
			split_script(rest, kinds[i].unnamed, out);
	}
}
