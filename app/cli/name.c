#include "name.h"

#include "text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define SPANS_MAX 64
#define DEPTH_MAX 64

/* Arguments between two brackets, as byte offsets. */
struct bracketed {
	size_t from, to;
	bool qualifies; /* it qualifies the name, like Rust's <T as Trait>:: */
	bool left_out;
};

struct bracket {
	char close;
	size_t at;
	bool arguments; /* it has arguments; else it is part of the name, like
	                   Go's (*T) */
};

/* A name, and the parts that may be left out. */
struct parts {
	const char *name;
	struct bracketed spans[SPANS_MAX];
	size_t n;
	/* while the name is read */
	struct bracket open[DEPTH_MAX];
	size_t depth;
	bool after_operator;
};

static bool
in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

/* Returns the length of an operator's name, such as "operator<<", at s[at]; 0
 * if there is none. Its characters are not brackets. */
static size_t
operator_length(const char *s, size_t at)
{
	static const char *const symbols[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=",
		">=",  "->",  "()",  "[]",  "<",  ">",
	};
	static const char word[] = "operator";
	size_t n = strlen(word);

	if (strncmp(s + at, word, n) || (at && in_word(s[at - 1])))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++)
		if (!strncmp(s + at + n, symbols[i], strlen(symbols[i])))
			return n + strlen(symbols[i]);
	return 0;
}

static char
closing(char open)
{
	switch (open) {
	case '<':
		return '>';
	case '(':
		return ')';
	case '[':
		return ']';
	case '{':
		return '}';
	default:
		return '\0';
	}
}

static bool
closes(const char *s, size_t at)
{
	return strchr(">)]}", s[at]) &&
	       !(s[at] == '>' && at && s[at - 1] == '-');
}

/* Brackets that follow a word contain its arguments. */
static void
open_bracket(struct parts *p, size_t at)
{
	char before = at ? p->name[at - 1] : ' ';

	p->open[p->depth++] = (struct bracket){
		.close = closing(p->name[at]),
		.at = at,
		.arguments =
			p->name[at] != '{' &&
			(p->after_operator || before == '>' || in_word(before)),
	};
}

static void
close_bracket(struct parts *p, size_t at)
{
	const struct bracket *b = &p->open[--p->depth];
	bool qualifies = !p->depth && !strncmp(p->name + at, ">::", 3);

	if (p->n == SPANS_MAX || (!b->arguments && !qualifies))
		return;
	/* Spans inside this one are left out with it. */
	while (b->arguments && p->n && p->spans[p->n - 1].from > b->at)
		p->n--;
	p->spans[p->n++] = (struct bracketed){
		.from = b->at + 1, .to = at, .qualifies = !b->arguments};
}

/* Reads a character, or the name of an operator. Returns false for an unmatched
 * bracket. */
static bool
read_one(struct parts *p, size_t *at)
{
	const char *s = p->name;
	size_t symbol = operator_length(s, *at);

	if (symbol) {
		*at += symbol - 1;
	} else if (closing(s[*at])) {
		if (p->depth == DEPTH_MAX)
			return false;
		open_bracket(p, *at);
	} else if (closes(s, *at)) {
		if (!p->depth || p->open[p->depth - 1].close != s[*at])
			return false;
		close_bracket(p, *at);
	}
	p->after_operator = symbol || (p->after_operator && s[*at] == ' ');
	return true;
}

/* Finds the arguments. A name whose brackets do not match has none. */
static void
find_spans(struct parts *p)
{
	for (size_t i = 0; p->name[i]; i++)
		if (!read_one(p, &i)) {
			p->n = 0;
			return;
		}
	if (p->depth)
		p->n = 0;
}

/* Returns the longest span not left out yet, among the qualifying or the other
 * spans. */
static struct bracketed *
longest(struct parts *p, bool qualifies)
{
	struct bracketed *best = NULL;

	for (size_t i = 0; i < p->n; i++) {
		struct bracketed *s = &p->spans[i];

		if (s->left_out || s->qualifies != qualifies ||
		    s->to - s->from < 2)
			continue;
		if (!best || s->to - s->from > best->to - best->from)
			best = s;
	}
	return best;
}

/* Returns the first span left out from at on, or NULL. */
static const struct bracketed *
next_left_out(const struct parts *p, size_t at)
{
	const struct bracketed *best = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct bracketed *s = &p->spans[i];

		if (s->left_out && s->from >= at &&
		    (!best || s->from < best->from))
			best = s;
	}
	return best;
}

static void
put_parts(struct buf *out, const struct parts *p)
{
	const struct bracketed *s;
	size_t at = 0;

	for (; (s = next_left_out(p, at)); at = s->to) {
		buf_add(out, p->name + at, s->from - at);
		buf_puts(out, ELLIPSIS);
	}
	buf_puts(out, p->name + at);
}

/* Appends the name, leaving out as few arguments as necessary. */
static void
without_arguments(struct buf *out, const char *name, size_t width)
{
	struct parts p = {.name = name, .n = 0};
	struct bracketed *s;

	find_spans(&p);
	buf_puts(out, name);
	while (text_columns(buf_str(out)) > width &&
	       ((s = longest(&p, false)) || (s = longest(&p, true)))) {
		s->left_out = true;
		buf_clear(out);
		put_parts(out, &p);
	}
}

/* True for a suffix that compilers append: ".cold", ".part.0". */
static bool
is_clone(const char *dot)
{
	static const char *const words[] = {"cold", "part", "constprop",
	                                    "isra", "llvm", "lto_priv"};

	dot++;
	if (isdigit((unsigned char)*dot))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strncmp(dot, words[i], strlen(words[i])))
			return true;
	return false;
}

/* True for a separator of scopes: "::", "/", or Go's and Java's ".". */
static bool
is_joint(const char *s, size_t at)
{
	if (!strncmp(s + at, "::", 2) || s[at] == '/')
		return true;
	return s[at] == '.' && at && s[at + 1] && !is_clone(s + at);
}

/* Returns the end of the next separator outside brackets, or the name's end. */
static size_t
next_joint(const char *s, size_t at)
{
	size_t depth = 0, i = at;

	while (s[i]) {
		size_t symbol = operator_length(s, i);

		if (!depth && i > at && is_joint(s, i))
			break;
		if (symbol) {
			i += symbol;
			continue;
		}
		if (closing(s[i]))
			depth++;
		else if (depth && closes(s, i))
			depth--;
		i++;
	}
	return i;
}

/* True for a file, or an address in one, such as libc.so.6+0x88ef0, whose dots
 * are not separators. */
static bool
is_file(const char *name)
{
	const char *so = strstr(name, ".so");

	return strstr(name, "+0x") || (so && (!so[3] || so[3] == '.'));
}

/* Keeps the part after the last separator, and as much before it as fits. */
static void
without_qualifiers(struct buf *out, const char *name, size_t width)
{
	size_t room = width - 1, last = 0; /* without the ellipsis */

	for (size_t at = next_joint(name, 0); name[at] && !is_file(name);
	     at = next_joint(name, at)) {
		if (text_columns(name + at) <= room) {
			buf_puts(out, ELLIPSIS);
			buf_puts(out, name + at);
			return;
		}
		last = at;
	}
	last += strspn(name + last, ":/.");
	text_cut(out, name + last, width, room / 2);
}

void
name_fit(struct buf *out, const char *name, size_t width)
{
	CLEANUP_BUF struct buf text = BUF_INIT(out->max);

	without_arguments(&text, name, width);
	if (text_columns(buf_str(&text)) <= width)
		buf_puts(out, buf_str(&text));
	else
		without_qualifiers(out, buf_str(&text), width);
}
