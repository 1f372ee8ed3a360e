#include "program.h"

#include "table.h"

#include <ctype.h>
#include <string.h>

static const struct {
	const char *program, *language;
} interpreters[] = {
	{"python", "python"}, {"pypy", "python"}, {"java", "java"},
	{"node", "node"},     {"perl", "perl"},   {"ruby", "ruby"},
	{"php", "php"},       {"dotnet", ".net"}, {"beam.smp", "erlang"},
	{"lua", "lua"},       {"bash", "shell"},  {"dash", "shell"},
};

static const char *
base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *
program_language(const json_t *process)
{
	const char *name = base_of(json_member(process, "executable"));

	for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
		if (!strncmp(name, interpreters[i].program,
		             strlen(interpreters[i].program)))
			return interpreters[i].language;
	return "";
}

bool
program_is_go(const void *p, size_t n)
{
	static const char note[] = "\x04\0\0\0Go";

	/* name's size, description's size, type, name */
	for (const char *at = p; n >= 16; at++, n--)
		if (!memcmp(at, note, 4) && !memcmp(at + 8, note, 4) &&
		    !memcmp(at + 12, note + 4, 4))
			return true;
	return false;
}

/* A unit that somebody wrote; a login has one, too. */
static bool
has_unit(const json_t *process)
{
	const char *unit = json_member(process, "unit");
	size_t n = strlen(unit);

	return n > 8 && !strcmp(unit + n - 8, ".service") &&
	       strncmp(unit, "user@", 5) != 0;
}

/* Returns the length of the first two words of the command of a process if the
 * second one is a script for an interpreter; else 0. */
static size_t
script_length(const json_t *process)
{
	const char *command = json_member(process, "command");
	const char *space = strchr(command, ' ');

	if (!*program_language(process) || !space || !space[1] ||
	    space[1] == '-')
		return 0;
	return (size_t)(space - command) + 1 + strcspn(space + 1, " ");
}

void
program_title(const json_t *process, struct buf *out)
{
	const char *command = json_member(process, "command");
	size_t n = script_length(process), word = strcspn(command, " ") + 1;

	if (has_unit(process))
		buf_puts(out, json_member(process, "unit"));
	else if (n)
		buf_add(out, command + word, n - word);
	else
		buf_puts(out, json_member(process, "executable"));
}

/* Appends text as a regular expression that means it.
 *   Source   regex(7), special characters */
static void
put_literally(const char *text, size_t n, struct buf *out)
{
	for (; n--; text++) {
		if (strchr(".[]^$\\*+?{}()|", *text))
			buf_putc(out, '\\');
		buf_putc(out, *text);
	}
}

/* True for a program in a file; memory that was executed has a path, too. */
static bool
has_file(const json_t *process)
{
	const char *exe = json_member(process, "executable");

	return *exe == '/' && strncmp(exe, "/memfd:", 7) != 0;
}

json_t *
program_match(const json_t *process)
{
	CLEANUP_BUF struct buf pattern = BUF_INIT(BUF_MAX_SMALL);
	size_t n = script_length(process);
	json_t *match = json_object();

	if (has_unit(process)) {
		json_object_set_new(match, "unit",
		                    json_text(json_member(process, "unit")));
	} else if (n) {
		buf_putc(&pattern, '^');
		put_literally(json_member(process, "command"), n, &pattern);
		buf_puts(&pattern, "( |$)");
		json_object_set_new(match, "cmdline",
		                    json_text(buf_str(&pattern)));
	} else if (has_file(process)) {
		json_object_set_new(
			match, "exe",
			json_text(json_member(process, "executable")));
	}
	if (!json_object_size(match)) {
		json_decref(match);
		return NULL;
	}
	return match;
}

void
shell_word(const char *word, struct buf *out)
{
	bool plain = *word;

	for (const char *p = word; *p; p++)
		plain &= isalnum((unsigned char)*p) || strchr("@%_-+=:,./", *p);
	if (plain) {
		buf_puts(out, word);
		return;
	}
	buf_putc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	buf_putc(out, '\'');
}

void
program_options(const json_t *process, struct buf *out)
{
	if (has_unit(process)) {
		buf_puts(out, "--unit ");
		shell_word(json_member(process, "unit"), out);
	} else if (script_length(process)) {
		buf_addf(out, "--pid %" JSON_INTEGER_FORMAT,
		         json_integer_value(json_object_get(process, "pid")));
	} else {
		buf_puts(out, "--exe ");
		shell_word(json_member(process, "executable"), out);
	}
}

void
program_name(const char *title, char out[static SERVICE_NAME_MAX])
{
	size_t n, length = 0;

	title = base_of(title);
	n = strlen(title);
	if (n > 8 && !strcmp(title + n - 8, ".service"))
		n -= 8;
	for (size_t i = 0; i < n && length < SERVICE_NAME_MAX - 1; i++) {
		char c = title[i];
		bool letter = isalnum((unsigned char)c) && (c & 0x80) == 0;

		if (letter || length)
			out[length++] = letter || strchr("._-", c) ? c : '-';
	}
	while (length && !isalnum((unsigned char)out[length - 1]))
		length--;
	out[length] = '\0';
}
