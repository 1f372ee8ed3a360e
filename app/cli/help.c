/* Help, from the same rows that dispatch. */
#include "cli.h"

#include <string.h>

#define WRAP 78

const struct command commands[] = {
#define COMMAND(name, usage, handler, least, most, doc) \
	{name, usage, handler, least, most, doc},
#include "commands.def"
#undef COMMAND
};
const size_t command_count = ARRAY_LEN(commands);

/* Words that the command's name and the given words share, all of the name
 * or none. */
static size_t
words_matched(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(name, " ");

		if (strlen(words[i]) != len || strncmp(name, words[i], len))
			return 0;
		if (!name[len])
			return i + 1;
		name += len + 1;
	}
	return 0;
}

const struct command *
command_find(const char *const *words, size_t n, size_t *out_used)
{
	for (size_t i = 0; i < command_count; i++) {
		*out_used = words_matched(commands[i].name, words, n);
		if (*out_used)
			return &commands[i];
	}
	return NULL;
}

static bool
in_group(const struct command *cmd, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(cmd->name, word, n) && cmd->name[n] == ' ';
}

bool
command_group(const char *word)
{
	for (size_t i = 0; i < command_count; i++)
		if (in_group(&commands[i], word))
			return true;
	return false;
}

/* The next piece that stays on one line: a word, or a short [--option N]. */
static size_t
piece(const char *text)
{
	const char *end = *text == '[' ? strchr(text, ']') : NULL;

	if (end && end - text < WRAP / 2)
		return (size_t)(end - text) + strcspn(end, " ");
	return strcspn(text, " ");
}

/* Text from column on, broken at spaces; the first line goes on where the
 * cursor is. */
static void
wrap(struct buf *out, const char *text, size_t column)
{
	size_t at = column;

	while (*text) {
		size_t n = piece(text);

		if (at > column && at + n + 1 > WRAP) {
			buf_addf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			buf_putc(out, ' ');
			at++;
		}
		buf_add(out, text, n);
		at += n;
		text += n + strspn(text + n, " ");
	}
	buf_putc(out, '\n');
}

static void
show_options(struct buf *out, const char *usage)
{
	for (size_t i = 0; i < option_count; i++) {
		struct option_row o = option_row(i);

		if (usage ? o.global || !usage_names(usage, o.name) : !o.global)
			continue;
		buf_addf(out, "  %s%s%s\n      ", o.name, *o.arg ? " " : "",
		         o.arg);
		wrap(out, o.doc, 6);
	}
}

static void
show_command(struct buf *out, const struct command *cmd)
{
	buf_puts(out, "usage: stoker ");
	buf_addf(out, "%s ", cmd->name);
	wrap(out, cmd->usage, 15 + strlen(cmd->name));
	buf_putc(out, '\n');
	wrap(out, cmd->doc, 0);
	buf_putc(out, '\n');
	show_options(out, cmd->usage);
	buf_puts(out, "\nOptions of every command: stoker help\n");
}

/* A line per command, or only those of a group. */
static void
show_commands(struct buf *out, const char *group)
{
	for (size_t i = 0; i < command_count; i++) {
		if (group && !in_group(&commands[i], group))
			continue;
		buf_addf(out, "  %-15s ", commands[i].name);
		wrap(out, commands[i].doc, 18);
	}
}

static void
show_all(struct buf *out)
{
	buf_puts(out, "usage: stoker COMMAND [options]\n\n");
	show_commands(out, NULL);
	buf_puts(out, "\nOptions of every command:\n");
	show_options(out, NULL);
	buf_puts(out, "\nExit status:\n");
#define LEAVE(name, status, doc) buf_addf(out, "  %3d  %s\n", status, doc);
#include "exits.def"
#undef LEAVE
}

int
cmd_help(struct cli *c)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct command *cmd = NULL;
	size_t used;

	if (c->noperands)
		cmd = command_find(c->operands, c->noperands, &used);
	if (cmd)
		show_command(&out, cmd);
	else if (c->noperands && command_group(c->operands[0]))
		show_commands(&out, c->operands[0]);
	else if (c->noperands)
		return usage_error("no such command: %s", c->operands[0]);
	else
		show_all(&out);
	return print(&out);
}
