/* Help, from the rows that commands are dispatched by. */
#include "cli.h"

#include "near.h"

#include <string.h>

#define WRAP        78
#define NAME_COLUMN 15 /* where the docs in a list of commands begin */

const struct command commands[] = {
#define COMMAND(part, name, usage, handler, least, most, doc, example) \
	{PART_##part, name, usage, least, most, doc, example},
#include "commands.def"
#undef COMMAND
};
const size_t command_count = ARRAY_LEN(commands);

static const char *const part_titles[PARTS] = {
#define PART(part, title) [PART_##part] = title,
#include "commands.def"
#undef PART
};

static const struct {
	const char *word, *doc;
} families[] = {
#define FAMILY(word, doc) {word, doc},
#include "commands.def"
#undef FAMILY
};

/* Returns the number of words of the command's name if words begin with all of
 * it, else 0. */
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

const char *
command_family(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (!strcmp(families[i].word, word))
			return families[i].doc;
	return NULL;
}

static bool
in_family(const struct command *cmd, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(cmd->name, word, n) && cmd->name[n] == ' ';
}

/* Returns the length of the next unbreakable piece: a word, or a short
 * [--option N]. */
static size_t
piece(const char *text)
{
	const char *end = *text == '[' ? strchr(text, ']') : NULL;

	if (end && end - text < WRAP / 2)
		return (size_t)(end - text) + strcspn(end, " ");
	return strcspn(text, " ");
}

/* Appends text, wrapped at spaces and indented to column. The first line
 * continues the current one. */
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

/* Shows the options of a command, or the global ones if cmd is NULL. */
static void
show_options(struct buf *out, const struct command *cmd)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		struct option_row o = option_row(i);

		if (cmd ? o.global || !usage_names(cmd->usage, o.name)
		        : !o.global)
			continue;
		buf_addf(out, "  %s%s%s\n      ", o.name, *o.arg ? " " : "",
		         o.arg);
		wrap(out, option_doc(i, cmd ? cmd->name : ""), 6);
	}
}

static void
show_example(struct buf *out, const struct command *cmd)
{
	buf_addf(out, "  stoker %s\n", cmd->example);
}

static void
show_command(struct buf *out, const struct command *cmd)
{
	buf_addf(out, "usage: stoker %s%s", cmd->name, *cmd->usage ? " " : "");
	wrap(out, cmd->usage, 15 + strlen(cmd->name));
	buf_putc(out, '\n');
	wrap(out, cmd->doc, 0);
	if (usage_names(cmd->usage, "PROFILE")) {
		buf_putc(out, '\n');
		wrap(out, PROFILE_DOC, 0);
	}
	buf_puts(out, "\nExample:\n");
	show_example(out, cmd);
	if (strstr(cmd->usage, "--"))
		buf_putc(out, '\n');
	show_options(out, cmd);
	buf_puts(out, "\nOptions of every command: stoker help\n");
}

size_t
sentence_length(const char *doc)
{
	const char *end = strstr(doc, ". ");

	return end ? (size_t)(end - doc) + 1 : strlen(doc);
}

static void
show_line(struct buf *out, const char *name, const char *doc, size_t column)
{
	CLEANUP_BUF struct buf first = BUF_INIT(BUF_MAX_SMALL);

	buf_add(&first, doc, sentence_length(doc));
	buf_addf(out, "  %-*s", (int)column - 2, name);
	wrap(out, buf_str(&first), column);
}

/* Appends the second words of a family's commands: "add, list". */
static void
put_words(struct buf *out, const char *family)
{
	const char *between = "";

	for (size_t i = 0; i < command_count; i++) {
		if (!in_family(&commands[i], family))
			continue;
		buf_addf(out, "%s%s", between,
		         strchr(commands[i].name, ' ') + 1);
		between = ", ";
	}
}

/* Shows "Register services, show and remove them: add, list, show." */
static void
show_family_line(struct buf *out, const char *word, const char *doc)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	buf_add(&text, doc, strlen(doc) - 1);
	buf_puts(&text, ": ");
	put_words(&text, word);
	buf_putc(&text, '.');
	show_line(out, word, buf_str(&text), NAME_COLUMN);
}

/* Returns the family of a command, or NULL. */
static const char *
family_word(const struct command *cmd)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (in_family(cmd, families[i].word))
			return families[i].word;
	return NULL;
}

static void
show_part(struct buf *out, enum part part)
{
	const char *before = NULL;

	buf_addf(out, "\n%s\n", part_titles[part]);
	for (size_t i = 0; i < command_count; i++) {
		const struct command *cmd = &commands[i];
		const char *word = family_word(cmd);

		if (cmd->part != part)
			continue;
		if (!word)
			show_line(out, cmd->name, cmd->doc, NAME_COLUMN);
		else if (word != before)
			show_family_line(out, word, command_family(word));
		before = word;
	}
}

static void
show_family(struct buf *out, const char *word)
{
	size_t widest = 0;

	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], word) &&
		    strlen(commands[i].name) > widest)
			widest = strlen(commands[i].name);
	buf_addf(out, "%s\n\n", command_family(word));
	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], word))
			show_line(out, commands[i].name, commands[i].doc,
			          widest + 5);
	buf_puts(out, "\nExamples:\n");
	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], word))
			show_example(out, &commands[i]);
	buf_addf(out, "\nOne of them: stoker help %s COMMAND\n", word);
}

static void
show_all(struct buf *out)
{
	buf_puts(out, "usage: stoker COMMAND [options]\n");
	for (enum part p = 0; p < PARTS; p++)
		show_part(out, p);
	buf_puts(out, "\nOne of them: stoker help COMMAND\n"
	              "\nOptions of every command:\n");
	show_options(out, NULL);
	buf_puts(out, "\nExit status:\n");
#define LEAVE(name, status, doc)          \
	buf_addf(out, "  %3d  ", status); \
	wrap(out, doc, 7);
#include "exits.def"
#undef LEAVE
}

static void
suggest_first(const char *word, struct buf *out)
{
	struct near near = NEAR(word);

	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		near_try(&near, families[i].word);
	for (size_t i = 0; i < command_count; i++)
		if (!family_word(&commands[i]))
			near_try(&near, commands[i].name);
	near_show(&near, out);
}

static void
suggest_second(const char *family, const char *word, struct buf *out)
{
	CLEANUP_BUF struct buf both = BUF_INIT(BUF_MAX_SMALL);
	struct near near;

	buf_addf(&both, "%s %s", family, word);
	near = NEAR(buf_str(&both));
	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], family))
			near_try(&near, commands[i].name);
	near_show(&near, out);
}

int
unknown_command(const struct cli *c)
{
	CLEANUP_BUF struct buf near = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf words = BUF_INIT(BUF_MAX_SMALL);
	const char *word = c->operands[0];

	if (!command_family(word)) {
		suggest_first(word, &near);
		return usage_error("no such command: %s%s\n  stoker help", word,
		                   buf_str(&near));
	}
	if (c->noperands < 2) {
		put_words(&words, word);
		return usage_error("%s needs one more word: %s\n"
		                   "  stoker help %s",
		                   word, buf_str(&words), word);
	}
	suggest_second(word, c->operands[1], &near);
	return usage_error("no such command: %s %s%s\n  stoker help %s", word,
	                   c->operands[1], buf_str(&near), word);
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
	else if (c->noperands == 1 && command_family(c->operands[0]))
		show_family(&out, c->operands[0]);
	else if (c->noperands)
		return unknown_command(c);
	else
		show_all(&out);
	return print(&out);
}
