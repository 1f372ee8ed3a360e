#include "godump_private.h"

#define MAX_DIGITS 18

bool
text_number(struct text *t, uint64_t *out)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < t->n && t->p[i] >= '0' && t->p[i] <= '9'; i++) {
		if (i == MAX_DIGITS)
			return false;
		n = 10 * n + (uint64_t)(t->p[i] - '0');
	}
	if (!i)
		return false;
	*t = (struct text){t->p + i, t->n - i};
	*out = n;
	return true;
}

/* Removes the text before the first character of stop from t, and returns
 * it. */
static struct text
take_until(struct text *t, const char *stop)
{
	struct text taken = {t->p, 0};

	while (t->n &&
	       (!*t->p || !strchr(stop, *t->p))) { /* strchr() finds a NUL */
		t->p++;
		t->n--;
		taken.n++;
	}
	return taken;
}

static bool
strip(struct text *t, struct text end)
{
	if (!text_ends(*t, end))
		return false;
	t->n -= end.n;
	return true;
}

/* Splits "chan receive (leaked) (scan) (durable)" into the wait reason and
 * notes. */
static void
read_state(struct text state, struct godump_head *out)
{
	bool more = true;

	while (more) {
		more = strip(&state, TEXT(" (scan)")) ||
		       strip(&state, TEXT("(scan)")) ||
		       strip(&state, TEXT(" (durable)"));
		if (!more && strip(&state, TEXT(" (leaked)")))
			more = out->leaked = true;
	}
	out->raw = state;
}

static void
read_attribute(struct text a, struct godump_head *out)
{
	uint64_t n;
	struct text start = a;

	if (text_skip(&a, TEXT("locked to thread")))
		out->locked = true;
	else if (text_skip(&a, TEXT("synctest group ")) ||
	         text_skip(&a, TEXT("synctest bubble ")))
		out->bubble = a;
	else if (text_number(&start, &n) && text_skip(&start, TEXT(" minute")))
		out->minutes = n;
}

/* Finds the } that ends the labels, skipping those in quotes. */
static bool
take_labels(struct text *t, struct text *out)
{
	bool quoted = false;

	for (size_t i = 0; i < t->n; i++) {
		if (t->p[i] == '\\' && quoted)
			i++;
		else if (t->p[i] == '"')
			quoted = !quoted;
		else if (t->p[i] == '}' && !quoted) {
			*out = (struct text){t->p, i};
			*t = (struct text){t->p + i + 1, t->n - i - 1};
			return true;
		}
	}
	return false;
}

/* Reads the text in brackets, and the labels that Go 1.26 adds. */
static bool
read_brackets(struct text *t, struct godump_head *out)
{
	struct text all = {t->p, t->n};
	size_t end = text_find(all, TEXT("]"));
	size_t labels = text_find(all, TEXT(" labels:{"));
	struct text state;

	all.n = labels < end ? labels : end;
	*t = (struct text){t->p + all.n, t->n - all.n};
	if (text_skip(t, TEXT(" labels:{")) && !take_labels(t, &out->labels))
		return false;
	if (!text_skip(t, TEXT("]")))
		return false;
	state = take_until(&all, ",");
	read_state(state, out);
	while (text_skip(&all, TEXT(", ")))
		read_attribute(take_until(&all, ","), out);
	return out->raw.n > 0;
}

bool
godump_head(struct text line, struct godump_head *out)
{
	struct godump_head h = {0};

	if (!text_skip(&line, TEXT("goroutine ")) ||
	    !text_number(&line, &h.goid) || !text_skip(&line, TEXT(" ")))
		return false;
	/* With GOTRACEBACK=system and above, Go 1.23 prints addresses here. */
	if (line.n && *line.p == 'g')
		(void)take_until(&line, "[");
	if (!text_skip(&line, TEXT("[")) || !read_brackets(&line, &h))
		return false;
	if (text_skip(&line, TEXT(" {")) && !take_labels(&line, &h.labels))
		return false;
	if (line.n != 1 || *line.p != ':')
		return false;
	*out = h;
	return true;
}

/* --- labels --------------------------------------------------------------- */

static int
hex(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void
put_rune(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_putc(out, (char)c);
		return;
	}
	if (c >= 0x10000) {
		buf_putc(out, (char)(0xf0 | (c >> 18 & 7)));
		buf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		buf_putc(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else
		buf_putc(out, (char)(0xc0 | c >> 6));
	buf_putc(out, (char)(0x80 | (c & 0x3f)));
}

/* Reads the digits after the letter in \x12, \u1234 or \U00012345. */
static void
unescape_number(struct text *t, size_t digits, bool byte, struct buf *out)
{
	uint32_t c = 0;

	for (; digits && t->n && hex(*t->p) >= 0; digits--) {
		c = c << 4 | (uint32_t)hex(*t->p);
		t->p++;
		t->n--;
	}
	if (byte)
		buf_putc(out, (char)c);
	else
		put_rune(out, c);
}

static void
unescape(struct text *t, struct buf *out)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	char c = *t->p;
	const char *at = strchr(from, c);

	t->p++;
	t->n--;
	if (c && at)
		buf_putc(out, to[at - from]);
	else if (c == 'x' || c == 'u' || c == 'U')
		unescape_number(t,
		                c == 'x'   ? 2
		                : c == 'u' ? 4
		                           : 8,
		                c == 'x', out);
	else
		buf_putc(out, c);
}

/* Reads a word, or a string in Go's quoting. */
static bool
take_word(struct text *t, const char *stop, struct buf *out)
{
	buf_clear(out);
	if (!text_skip(t, TEXT("\""))) {
		struct text word = take_until(t, stop);

		buf_add(out, word.p, word.n);
		return !buf_err(out);
	}
	while (t->n && *t->p != '"') {
		struct text plain = take_until(t, "\"\\");

		buf_add(out, plain.p, plain.n);
		if (t->n > 1 && *t->p == '\\') {
			text_skip(t, TEXT("\\"));
			unescape(t, out);
		} else if (t->n == 1) {
			break;
		}
	}
	return text_skip(t, TEXT("\"")) && !buf_err(out);
}

bool
godump_label(struct text *rest, struct buf *key, struct buf *value)
{
	if (!rest->n || !take_word(rest, ":", key) ||
	    !text_skip(rest, TEXT(":")))
		return false;
	text_skip(rest, TEXT(" "));
	if (!take_word(rest, ",", value))
		return false;
	text_skip(rest, TEXT(","));
	text_skip(rest, TEXT(" "));
	return key->len > 0;
}
