/*
 * stoker completion: completes command lines from the rows of commands.def and
 * options.def. The shells' scripts only call it.
 */
#include "session.h"

#include "table.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static const char script_bash[] =
	"# Completes stoker's commands: source it, or put it into a folder of\n"
	"# bash-completion.\n"
	"_stoker()\n"
	"{\n"
	"	local found\n"
	"	COMPREPLY=()\n"
	"	if ! found=$(stoker completion bash -- \\\n"
	"		\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null); then\n"
	"		compopt -o default\n"
	"	elif [ -n \"$found\" ]; then\n"
	"		mapfile -t COMPREPLY <<<\"$found\"\n"
	"	fi\n"
	"}\n"
	"complete -F _stoker stoker\n";

static const char script_zsh[] =
	"#compdef stoker\n"
	"# Completes stoker's commands: source it after compinit, or put it "
	"as\n"
	"# _stoker into a folder of $fpath.\n"
	"_stoker()\n"
	"{\n"
	"	local text\n"
	"	local -a found\n"
	"	text=$(stoker completion zsh -- \"${(@)words[2,CURRENT]}\" \\\n"
	"		2>/dev/null) || { _files; return }\n"
	"	[[ -n $text ]] || return 1\n"
	"	found=(\"${(@f)text}\")\n"
	"	_describe stoker found\n"
	"}\n"
	"if [[ $funcstack[1] == _stoker ]]; then\n"
	"	_stoker \"$@\"\n"
	"else\n"
	"	compdef _stoker stoker\n"
	"fi\n";

static const char script_fish[] =
	"# Completes stoker's commands: source it, or put it into a folder of\n"
	"# $fish_complete_path.\n"
	"function __stoker_found\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	stoker completion fish -- $words[2..-1] 2>/dev/null\n"
	"	or __fish_complete_path (commandline -ct)\n"
	"end\n"
	"complete -c stoker -f -a '(__stoker_found)'\n";

#define WORD_MAX 32

#define OPERANDS_MAX 64 /* operands that are examined */

enum shell { BASH, ZSH, FISH };

static const struct {
	const char *name, *script;
} shells[] = {
	[BASH] = {"bash", script_bash},
	[ZSH] = {"zsh", script_zsh},
	[FISH] = {"fish", script_fish},
};

/* Placeholders in usage lines, and the words that they stand for. */
static const struct {
	const char *name, *word, *doc;
} values[] = {
#define PROFILE_TYPE(name, sample, unit, count, kind, values, doc, ...) \
	{"TYPE", #name, doc}, {"TYPE,...", #name, doc},
#include "types.def"
#undef PROFILE_TYPE
#define FORMAT(name, type, extension, use, doc) {"FORMAT", #name, doc},
#include "formats.def"
#undef FORMAT
#define KEY(section, key, type, def, min, max, doc) \
	{"KEY", #section "." #key, doc},
#include "config.def"
#undef KEY
	{"SHELL", "bash", ""},
	{"SHELL", "zsh", ""},
	{"SHELL", "fish", ""},
};

/* Names that only the server knows. */
static const struct {
	const char *name, *path, *item, *doc; /* members of an item */
} lists[] = {
	{"SERVICE", "/api/v1/services?limit=500", "name", "description"},
	{"PROFILE", PROFILING "/sessions?limit=50", "id", "service"},
	{"BASE", PROFILING "/sessions?limit=50", "id", "service"},
	{"PROFILE", "/api/v1/services?limit=500", "name", "description"},
	{"BASE", "/api/v1/services?limit=500", "name", "description"},
	{"BASELINE", PROFILING "/baselines?limit=100", "baselineLabel",
         "service"},
	{"TOKEN", "/api/v1/tokens?limit=500", "name", "role"},
};

struct completion {
	struct cli *cli;
	enum shell shell;
	const char *const *words; /* the last may be "", and is completed */
	size_t n;
	const char *operands[OPERANDS_MAX]; /* of the words before it */
	size_t noperands;
	bool only_operands; /* "--" was among the words */
	struct buf out;
};

static const char *
last(const struct completion *c)
{
	return c->words[c->n - 1];
}

/* Appends the shell's separator and the first sentence of doc. */
static void
put_doc(struct completion *c, const char *doc)
{
	size_t n = sentence_length(doc);

	if (n && doc[n - 1] == '.')
		n--;
	if (c->shell == BASH || !n)
		return;
	buf_putc(&c->out, c->shell == ZSH ? ':' : '\t');
	buf_add(&c->out, doc, n);
}

static void
offer(struct completion *c, const char *word, size_t n, const char *doc)
{
	size_t begun = strlen(last(c));

	if (begun > n || strncmp(word, last(c), begun))
		return;
	for (size_t i = 0; i < n; i++) {
		if (c->shell == ZSH && word[i] == ':')
			buf_putc(&c->out, '\\');
		buf_putc(&c->out, word[i]);
	}
	put_doc(c, doc);
	buf_putc(&c->out, '\n');
}

/* Offers names from the server, or none if it does not answer. */
static void
offer_listed(struct completion *c, size_t row)
{
	CLEANUP_JSON json_t *list = ask_quietly(c->cli, lists[row].path);
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(list, "items"), i, item) {
		CLEANUP_BUF struct buf word = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf doc = BUF_INIT(BUF_MAX_SMALL);

		safe_puts(&word, json_member(item, lists[row].item));
		safe_puts(&doc, json_member(item, lists[row].doc));
		offer(c, buf_str(&word), word.len, buf_str(&doc));
	}
}

/* True for a type of profiles that the doc of its option does not list. */
static bool
is_left_out(const char *placeholder, const char *word, const char *doc)
{
	return !strncmp(placeholder, "TYPE", 4) && !strstr(doc, word);
}

/* Offers the values of a placeholder, which doc explains. Returns LEAVE_FAILED
 * if the value is a file, which the shell completes. */
static int
offer_values(struct completion *c, const char *name, const char *doc)
{
	static const char *const files[] = {"FILE", "FILE...", "DIR", "PATH"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (!strcmp(files[i], name))
			return LEAVE_FAILED;
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (!strcmp(values[i].name, name) &&
		    !is_left_out(name, values[i].word, doc))
			offer(c, values[i].word, strlen(values[i].word),
			      values[i].doc);
	if (!strcmp(name, "PROFILE") || !strcmp(name, "BASE"))
		offer(c, "@last", strlen("@last"), "The newest profile");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (!strcmp(lists[i].name, name))
			offer_listed(c, i);
	return LEAVE_OK;
}

static void
offer_options(struct completion *c, const struct command *cmd)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		struct option_row o = option_row(i);

		if (o.global || (cmd && usage_names(cmd->usage, o.name)))
			offer(c, o.name, strlen(o.name),
			      option_doc(i, cmd ? cmd->name : ""));
	}
}

/* Returns the part of a command's name after these words, or NULL if the name
 * does not begin with them. */
static const char *
name_after(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(name, " ");

		if (strlen(words[i]) != len || strncmp(name, words[i], len) ||
		    !name[len])
			return NULL;
		name += len + 1;
	}
	return name;
}

/* Returns the doc of a command, or of its family if more words follow. */
static const char *
doc_of(const struct command *cmd, bool more)
{
	char word[WORD_MAX];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(cmd->name, " "),
	         cmd->name);
	return more ? command_family(word) : cmd->doc;
}

/* Offers the next word of each command that begins with these words, without
 * duplicates. */
static void
offer_commands(struct completion *c, const char *const *words, size_t n)
{
	const char *before = "";

	for (size_t i = 0; i < command_count; i++) {
		const char *next = name_after(commands[i].name, words, n);
		size_t len = next ? strcspn(next, " ") : 0;

		if (!next || !strncmp(before, next, len + 1))
			continue;
		offer(c, next, len, doc_of(&commands[i], next[len]));
		before = next;
	}
}

/*
 * Finds the name of an operand in a usage line, without brackets. An operand
 * that ends in "..." may be repeated, and stands for all that follow.
 */
static void
operand_name(const char *usage, size_t index, struct buf *out)
{
	size_t n;

	for (; *usage; usage += n + strspn(usage + n, " ")) {
		bool optional = !strncmp(usage, "[--", 3);

		n = strcspn(usage, " ");
		if (optional) {
			n = strcspn(usage, "]");
			n += strcspn(usage + n, " ");
		} else if (!strncmp(usage, "--", 2)) {
			n += strspn(usage + n, " ");
			n += strcspn(usage + n, " ");
		} else if (!index ||
		           (n > 3 && !strncmp(usage + n - 3, "...", 3))) {
			size_t bracket = *usage == '[';

			buf_add(out, usage + bracket, n - 2 * bracket);
			return;
		} else {
			index--;
		}
	}
}

static int
offer_operand(struct completion *c, const struct command *cmd, size_t used)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

	if (!strcmp(cmd->name, "help")) {
		offer_commands(c, c->operands + used, c->noperands - used);
		return LEAVE_OK;
	}
	operand_name(cmd->usage, c->noperands - used, &name);
	return offer_values(c, buf_str(&name), "");
}

/* Returns the row of an option that takes an argument, or OPTION_COUNT. */
static size_t
option_with_argument(const char *word)
{
	size_t i = 0;

	while (i < OPTION_COUNT && strcmp(option_row(i).name, word) != 0)
		i++;
	return i < OPTION_COUNT && *option_row(i).arg ? i : OPTION_COUNT;
}

/* Reads the words before the last one. Returns the row of the option whose
 * argument the last word is, or OPTION_COUNT. */
static size_t
read_words(struct completion *c)
{
	for (size_t i = 0; i + 1 < c->n; i++) {
		const char *word = c->words[i];

		if (c->only_operands || word[0] != '-' || !word[1]) {
			if (c->noperands < OPERANDS_MAX)
				c->operands[c->noperands++] = word;
		} else if (!strcmp(word, "--")) {
			c->only_operands = true;
		} else if (option_with_argument(word) < OPTION_COUNT &&
		           ++i + 1 == c->n) {
			return option_with_argument(word);
		}
	}
	return OPTION_COUNT;
}

static int
complete(struct completion *c)
{
	size_t used, option = read_words(c);
	const struct command *cmd =
		command_find(c->operands, c->noperands, &used);

	if (option < OPTION_COUNT)
		return offer_values(c, option_row(option).arg,
		                    option_doc(option, cmd ? cmd->name : ""));
	if (!c->only_operands && last(c)[0] == '-')
		offer_options(c, cmd);
	else if (cmd)
		return offer_operand(c, cmd, used);
	else
		offer_commands(c, c->operands, c->noperands);
	return LEAVE_OK;
}

int
cmd_completion(struct cli *c)
{
	struct completion ask = {
		.cli = c,
		.words = c->operands + 1,
		.n = c->noperands - 1,
		.out = BUF_INIT(BUF_MAX_SMALL),
	};
	size_t i = 0;
	int rc = LEAVE_OK;

	while (i < ARRAY_LEN(shells) && strcmp(shells[i].name, c->operands[0]))
		i++;
	if (i == ARRAY_LEN(shells))
		return usage_error("completion takes bash, zsh or fish");
	ask.shell = (enum shell)i;
	if (ask.n)
		rc = complete(&ask);
	else
		buf_puts(&ask.out, shells[i].script);
	if (!rc)
		rc = print(&ask.out);
	buf_done(&ask.out);
	return rc;
}
