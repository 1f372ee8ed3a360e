#include "selector.h"

#include "base/pattern.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_MOST 4096 /* bytes of a pattern, translated */

void
selector_done(struct selector *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].pattern)
			regfree(&s->items[i].re);
	free(s->text);
	*s = (struct selector){0};
}

/* --- patterns ------------------------------------------------------------- */

/*
 * Writes the class that an escape stands for, without brackets if bare. False
 * for an escape that is not a class.
 */
static bool
put_class(char c, bool bare, struct buf *out)
{
	static const struct {
		char c;
		const char *text;
	} classes[] = {{'d', "0-9"}, {'w', "0-9A-Za-z_"}, {'s', "[:space:]"}};

	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		if (c == classes[i].c && bare)
			buf_puts(out, classes[i].text);
		else if (c == classes[i].c)
			buf_addf(out, "[%s]", classes[i].text);
		else if (c == classes[i].c - 'a' + 'A' && !bare)
			buf_addf(out, "[^%s]", classes[i].text);
		else
			continue;
		return true;
	}
	return false;
}

/* Returns the byte that an escaped letter stands for, or 0. */
static char
control_of(char c)
{
	static const char letters[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? bytes[at - letters] : 0;
}

static bool
is_letter(char c)
{
	return (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Writes an escape outside of brackets. Returns the number of bytes read, 0 for
 * an escape that is not supported. */
static size_t
put_escape(const char *p, struct buf *out)
{
	char c = p[1];

	if (!c)
		return 0;
	if (put_class(c, false, out))
		return 2;
	if (c == 'b' || c == 'B')
		buf_addf(out, "\\%c", c);
	else if (control_of(c))
		buf_putc(out, control_of(c));
	else if (is_letter(c))
		return 0;
	else
		buf_addf(out, "\\%c", c);
	return 2;
}

/*
 * Writes "[...]". POSIX has no escapes there: a bracket comes first, a
 * circumflex is not first, and a hyphen last. Returns the number of bytes read,
 * 0 for brackets that are not supported.
 */
static size_t
put_brackets(const char *start, struct buf *out)
{
	CLEANUP_BUF struct buf body = BUF_INIT(PATTERN_MOST);
	bool bracket = false, hyphen = false, caret = false;
	const char *p = start + 1;
	bool negated = *p == '^';

	p += negated;
	for (bool first = true; *p && (*p != ']' || first); first = false) {
		char c = *p++;

		if (c == '[' && *p == ':') {
			size_t n = strcspn(p, "]");

			buf_putc(&body, c);
			buf_add(&body, p, n + (p[n] == ']'));
			p += n + (p[n] == ']');
			continue;
		}
		if (c == '\\') {
			c = *p ? *p++ : '\0';
			if (put_class(c, true, &body))
				continue;
			if (control_of(c))
				c = control_of(c);
			else if (!c || is_letter(c))
				return 0;
			hyphen |= c == '-';
			if (c == '-')
				continue;
		}
		bracket |= c == ']';
		caret |= c == '^';
		if (c != ']' && c != '^')
			buf_putc(&body, c);
	}
	if (*p != ']')
		return 0;
	if (caret && !negated && !bracket && !body.len && !hyphen) {
		buf_puts(out, "\\^");
		return (size_t)(p + 1 - start);
	}
	buf_addf(out, "[%s%s%s%s%s]", negated ? "^" : "", bracket ? "]" : "",
	         buf_str(&body), caret ? "^" : "", hyphen ? "-" : "");
	return (size_t)(p + 1 - start);
}

/* Writes a pattern of RE2 as one of POSIX. */
static int
translate(const char *p, struct buf *out)
{
	size_t n;

	while (*p) {
		n = 1;
		if (*p == '\\') {
			n = put_escape(p, out);
		} else if (*p == '[') {
			n = put_brackets(p, out);
		} else if (*p == '(' && p[1] == '?') {
			n = p[2] == ':' ? 3 : 0;
			buf_putc(out, '(');
		} else {
			buf_putc(out, *p);
			/* whether it matches does not depend on laziness */
			if (strchr("*+?}", *p) && p[1] == '?')
				n = 2;
		}
		if (!n)
			return -EINVAL;
		p += n;
	}
	return buf_err(out);
}

/*
 * Skips flags at the beginning of a pattern: (?i), and (?s), with which a dot
 * matches a line feed, as it always does in POSIX and in PromQL.
 */
static const char *
skip_flags(const char *p, bool *any_case)
{
	size_t n = strncmp(p, "(?", 2) ? 0 : strspn(p + 2, "is");

	*any_case = n && p[2 + n] == ')' && memchr(p + 2, 'i', n);
	return n && p[2 + n] == ')' ? p + n + 3 : p;
}

int
selector_pattern(const char *name, const char *pattern, bool whole,
                 regex_t *out, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PATTERN_MOST);
	bool any_case;
	int rc;

	pattern = skip_flags(pattern, &any_case);
	if (whole)
		buf_puts(&text, "^(");
	rc = translate(pattern, &text);
	if (whole)
		buf_puts(&text, ")$");
	rc = rc ?: buf_err(&text)
	                ?: pattern_compile_within(buf_str(&text), PATTERN_MOST,
	                                          any_case, out);
	if (rc)
		buf_addf(why, "the pattern of %s is %s", name,
		         rc == -E2BIG ? "too long" : "not supported");
	return rc;
}

bool
matcher_passes(const struct matcher *m, const char *value)
{
	bool is = m->pattern ? pattern_matches(&m->re, value)
	                     : !strcmp(m->value, value);

	return is != m->negated;
}

/* --- texts ---------------------------------------------------------------- */

/* Reads n digits; -1 if there are fewer. */
static int64_t
digits_of(const char *p, int n, int base)
{
	int64_t v = 0;

	for (int i = 0; i < n; i++) {
		char c = (char)(p[i] | 0x20);
		int d = p[i] >= '0' && p[i] <= '9' ? p[i] - '0'
		        : c >= 'a' && c <= 'f'     ? c - 'a' + 10
		                                   : 16;

		if (d >= base)
			return -1;
		v = v * base + d;
	}
	return v;
}

static char *
put_utf8(char *to, uint32_t v)
{
	if (v < 0x80) {
		*to++ = (char)v;
		return to;
	}
	if (v >= 0x10000) {
		*to++ = (char)(0xF0 | v >> 18);
		*to++ = (char)(0x80 | (v >> 12 & 0x3F));
		*to++ = (char)(0x80 | (v >> 6 & 0x3F));
	} else if (v >= 0x800) {
		*to++ = (char)(0xE0 | v >> 12);
		*to++ = (char)(0x80 | (v >> 6 & 0x3F));
	} else {
		*to++ = (char)(0xC0 | v >> 6);
	}
	*to++ = (char)(0x80 | (v & 0x3F));
	return to;
}

/*
 * Writes what an escape stands for, in no more bytes than it has. Returns the
 * number of bytes read after the backslash, 0 if Go has no such escape.
 */
static size_t
unescape(const char *p, char **to)
{
	static const struct {
		char c;
		int n, base;
		size_t skip;
	} kinds[] = {{'x', 2, 16, 1}, {'u', 4, 16, 1}, {'U', 8, 16, 1}};
	int64_t v = -1;

	if (*p && strchr("\\\"'`", *p)) {
		*(*to)++ = *p;
		return 1;
	}
	if (control_of(*p)) {
		*(*to)++ = control_of(*p);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (*p != kinds[i].c)
			continue;
		v = digits_of(p + 1, kinds[i].n, 16);
		if (v <= 0 || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
			return 0;
		if (*p == 'x')
			*(*to)++ = (char)v;
		else
			*to = put_utf8(*to, (uint32_t)v);
		return kinds[i].skip + (size_t)kinds[i].n;
	}
	v = digits_of(p, 3, 8);
	if (v <= 0 || v > 255)
		return 0;
	*(*to)++ = (char)v;
	return 3;
}

/* Reads a quoted text in place. Returns its end, or NULL. */
static char *
read_text(char *p, char **out)
{
	char quote = *p++, *to = p;

	*out = to;
	while (*p && *p != quote) {
		size_t n;

		if (*p != '\\' || quote == '`') {
			*to++ = *p++;
			continue;
		}
		n = unescape(p + 1, &to);
		if (!n)
			return NULL;
		p += n + 1;
	}
	if (!*p)
		return NULL;
	*to = '\0';
	return utf8_valid(*out, (size_t)(to - *out)) ? p + 1 : NULL;
}

/* --- matchers ------------------------------------------------------------- */

static char *
skip_space(char *p)
{
	return p + strspn(p, " \t\r\n");
}

static bool
is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* Reads the operator. Returns its length, or 0. */
static size_t
read_operator(const char *p, struct matcher *m)
{
	m->pattern = (*p == '=' || *p == '!') && p[1] == '~';
	m->negated = *p == '!';
	if (m->pattern || (*p == '!' && p[1] == '='))
		return 2;
	return *p == '=';
}

/* Reads one matcher in place. Returns its end, or NULL with a line in why. */
static char *
read_matcher(char *p, struct matcher *m, struct buf *why)
{
	char *name_end;
	size_t n;

	if (is_quote(*p)) {
		p = read_text(p, &m->name);
		name_end = NULL;
	} else {
		m->name = p;
		p += strcspn(p, "=!~{},\"'` \t\r\n");
		name_end = p;
	}
	if (p)
		p = skip_space(p);
	n = p ? read_operator(p, m) : 0;
	if (!n || name_end == m->name) {
		buf_puts(why, "a matcher is NAME=\"VALUE\", with =, !=, =~ or "
		              "!~");
		return NULL;
	}
	if (name_end)
		*name_end = '\0';
	p = skip_space(p + n);
	p = is_quote(*p) ? read_text(p, &m->value) : NULL;
	if (!p)
		buf_addf(why, "the value of %s must be a quoted text", m->name);
	return p;
}

static int
read_all(char *p, struct selector *s, struct buf *why)
{
	for (p = skip_space(p); *p != '}'; p = skip_space(p)) {
		struct matcher m = {0};
		int rc;

		if (s->n == SELECTOR_MAX_MATCHERS) {
			buf_addf(why, "there are more than %d matchers",
			         SELECTOR_MAX_MATCHERS);
			return -E2BIG;
		}
		p = read_matcher(p, &m, why);
		if (!p)
			return -EINVAL;
		rc = m.pattern ? selector_pattern(m.name, m.value, true, &m.re,
		                                  why)
		               : 0;
		if (rc)
			return rc;
		s->items[s->n++] = m;
		p = skip_space(p);
		if (*p == ',')
			p++;
		else if (*p != '}')
			break;
	}
	if (*p == '}' && !*skip_space(p + 1))
		return 0;
	buf_puts(why, "a selector is {NAME=\"VALUE\", ...}");
	return -EINVAL;
}

int
selector_read(const char *text, struct selector *s, struct buf *why)
{
	char *p;

	if (strlen(text) > SELECTOR_MAX) {
		buf_addf(why, "a selector has at most %zu bytes", SELECTOR_MAX);
		return -E2BIG;
	}
	s->text = strdup(text);
	if (!s->text)
		return -ENOMEM;
	p = skip_space(s->text);
	if (!*p)
		return 0;
	if (*p == '{')
		return read_all(p + 1, s, why);
	buf_puts(why, "a selector is {NAME=\"VALUE\", ...}");
	return -EINVAL;
}
