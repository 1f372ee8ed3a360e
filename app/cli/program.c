#include "program.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/title.h"
#include "table.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HEAD_MAX ((size_t)8 << 10) /* bytes of an executable, with its notes */

static struct title_facts
facts_of(const json_t *process)
{
	return (struct title_facts){
		.unit = json_member(process, "unit"),
		.exe = json_member(process, "executable"),
		.command = json_member(process, "command"),
	};
}

bool
program_is_go(const void *p, size_t n)
{
	static const char note[] = "\x04\0\0\0Go\0";

	/* name's size, description's size, type, name */
	for (const char *at = p; n >= 16; at++, n--)
		if (!memcmp(at, note, 4) && !memcmp(at + 8, note, 4) &&
		    !memcmp(at + 12, note + 4, 4))
			return true;
	return false;
}

const char *
program_language(const json_t *process, const char *host)
{
	const char *exe = json_member(process, "executable"),
		   *language = title_language(exe);
	char here[256] = "", head[HEAD_MAX];
	CLEANUP_FD int fd = -1;
	ssize_t n;

	if (*language || gethostname(here, sizeof(here) - 1) ||
	    strcmp(here, host) != 0)
		return language;
	fd = open(exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n < 4 || memcmp(head, "\177ELF", 4) != 0)
		return "";
	return program_is_go(head, (size_t)n) ? "go" : "native";
}

/* --- containers ----------------------------------------------------------- */

/*
 * Returns the length of a pod's name without the part that differs between the
 * pods of one owner: "web" of "web-7d9f8c6b5-x2x9z" and of "web-x2x9z".
 *   Source   Kubernetes, staging/src/k8s.io/apimachinery/pkg/util/rand/rand.go:
 *            five random letters, preceded in a Deployment by a hash of up to
 *            ten
 */
static size_t
owner_of_pod(const char *pod)
{
	static const char random[] = "bcdfghjklmnpqrstvwxz2456789";
	size_t n = strlen(pod), hash = n;

	for (int part = 0; part < 2; part++) {
		size_t k = 0;

		while (k < hash && pod[hash - k - 1] != '-')
			k++;
		if (k == hash || (part ? k < 6 || k > 10 : k != 5) ||
		    strspn(pod + hash - k, random) < k)
			break;
		n = hash = hash - k - 1;
	}
	return n;
}

/* Appends the names of a process's container, as the options of stoker run
 * take them, and returns the option; NULL without a container. */
static const char *
put_container(const json_t *process, struct buf *out)
{
	const char *name = json_member(process, "container"),
		   *pod = json_member(process, "pod"),
		   *project = json_member(process, "project"),
		   *service = json_member(process, "service");
	size_t n = owner_of_pod(pod);

	if (*pod) {
		buf_addf(out, "%s/%.*s%s/%s", json_member(process, "namespace"),
		         (int)n, pod, pod[n] ? "-*" : "", name);
		return "pod";
	}
	if (*project)
		buf_addf(out, "%s%s%s", project, *service ? "/" : "", service);
	else
		buf_puts(out, name);
	return *project ? "compose" : *name ? "container" : NULL;
}

/* Members of matches that are written with slashes. */
static const struct {
	const char *kind, *members[4];
} objects[] = {
	{"pod", {"namespace", "name", "container", NULL}},
	{"compose", {"project", "service", NULL}},
};

/* Sets members to the parts of a word between slashes. */
static int
set_members(json_t *object, const char *const *members, const char *word)
{
	for (; word; word = *word ? word + 1 : NULL) {
		size_t n = strcspn(word, "/");

		if (!*members || !n ||
		    json_object_set_new(object, *members++,
		                        json_stringn(word, n)))
			return -1;
		word += n;
	}
	return 0;
}

int
program_set_match(json_t *match, const char *kind, const char *word)
{
	if (!word)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		CLEANUP_JSON json_t *object = json_object();

		if (!strcmp(objects[i].kind, kind))
			return set_members(object, objects[i].members, word)
			               ?: json_object_set(match, kind, object);
	}
	return json_object_set_new(match, kind, json_string(word));
}

static json_t *
match_of_container(const json_t *process)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *match = json_object();
	const char *option = put_container(process, &text);

	return option && !program_set_match(match, option, buf_str(&text))
	               ? TAKE(match)
	               : NULL;
}

/* --- programs ------------------------------------------------------------- */

void
program_title(const json_t *process, struct buf *out)
{
	const struct title_facts facts = facts_of(process);

	if (!put_container(process, out))
		title_put(&facts, out);
}

/* Appends text as a regular expression that matches it literally.
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

/* True for a program in a file; a program executed from memory has a path,
 * too. */
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
	const struct title_facts facts = facts_of(process);
	size_t n = title_script(&facts);
	json_t *match = match_of_container(process);

	if (match)
		return match;
	match = json_object();
	if (title_is_unit(facts.unit)) {
		json_object_set_new(match, "unit", json_text(facts.unit));
	} else if (n) {
		buf_putc(&pattern, '^');
		put_literally(facts.command, n, &pattern);
		buf_puts(&pattern, "( |$)");
		json_object_set_new(match, "cmdline",
		                    json_text(buf_str(&pattern)));
	} else if (has_file(process)) {
		json_object_set_new(match, "exe", json_text(facts.exe));
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
	CLEANUP_BUF struct buf container = BUF_INIT(BUF_MAX_SMALL);
	const struct title_facts facts = facts_of(process);
	const char *option = put_container(process, &container);

	if (option) {
		buf_addf(out, "--%s ", option);
		shell_word(buf_str(&container), out);
	} else if (title_is_unit(facts.unit)) {
		buf_puts(out, "--unit ");
		shell_word(facts.unit, out);
	} else if (title_script(&facts)) {
		buf_addf(out, "--pid %" JSON_INTEGER_FORMAT,
		         json_integer_value(json_object_get(process, "pid")));
	} else {
		buf_puts(out, "--exe ");
		shell_word(facts.exe, out);
	}
}

void
program_name(const char *title, char out[static SERVICE_NAME_MAX])
{
	size_t n, length = 0;

	title = path_name(title);
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
