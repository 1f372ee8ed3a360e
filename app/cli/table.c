#include "table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define GAP          2
#define COLUMN_LEAST 10 /* a column of text shrinks to this */
#define LAST_LEAST   36 /* the last one wants this much before others do */

/* Bytes of a character's UTF-8 after its first are no columns of their own.
 * Wide characters count as one: function names hardly hold any. */
static bool
starts_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t
columns_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += starts_character(*s);
	return n;
}

void
safe_puts(struct buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];

		/* C0, DEL, and C1 (U+0080..U+009F, 0xC2 0x80..0x9F) */
		if (c == 0xC2 && next >= 0x80 && next < 0xA0)
			s++;
		buf_putc(out, iscntrl(c) || (c == 0xC2 && next >= 0x80 &&
		                             next < 0xA0)
		                      ? '?'
		                      : (char)c);
	}
}

/* exe=/bin/web, or several with commas; rss (bytes=100). */
static void
members_show(struct buf *out, const json_t *object)
{
	const char *key, *between = "";
	json_t *v;

	json_object_foreach((json_t *)object, key, v)
	{
		buf_puts(out, between);
		safe_puts(out, key);
		buf_puts(out, json_is_object(v) ? " (" : "=");
		value_show(out, v);
		buf_puts(out, json_is_object(v) ? ")" : "");
		between = ", ";
	}
}

void
value_show(struct buf *out, const json_t *v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const json_t *item;
	size_t i;

	if (json_is_string(v)) {
		safe_puts(out, json_string_value(v));
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, item)
		{
			buf_puts(out, i ? ", " : "");
			value_show(out, item);
		}
	} else if (json_is_object(v)) {
		members_show(out, v);
	} else if (v && !json_is_null(v) && !json_write(v, &text)) {
		safe_puts(out, buf_str(&text));
	}
}

static const json_t *
look_up(const json_t *object, const char *key)
{
	const char *dot = strchr(key, '.');

	if (!dot)
		return json_object_get(object, key);
	return look_up(json_object_getn(object, key, (size_t)(dot - key)),
	               dot + 1);
}

/* n characters of s from character `from` on. */
static void
slice_puts(struct buf *out, const char *s, size_t from, size_t n)
{
	size_t at = 0;

	for (; *s; s++) {
		at += starts_character(*s);
		if (at > from && at <= from + n)
			buf_putc(out, *s);
	}
}

/* At most n characters, of a cut text the first and the last tail ones with a
 * '~' between. */
static void
cut_puts(struct buf *out, const char *s, size_t n, size_t tail)
{
	size_t all = columns_of(s);

	if (all <= n) {
		buf_puts(out, s);
		return;
	}
	slice_puts(out, s, 0, n - 1 - tail);
	buf_putc(out, '~');
	slice_puts(out, s, all - tail, tail);
}

/* The names next to the leaf, how many follow, and those next to the root. */
static void
stack_show(struct buf *out, const json_t *names)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	size_t n = json_array_size(names), i;
	const json_t *name;

	json_array_foreach(names, i, name)
	{
		if (n > STACK_LEAVES + STACK_ROOTS + 1 && i >= STACK_LEAVES &&
		    i < n - STACK_ROOTS) {
			if (i == STACK_LEAVES)
				buf_addf(out, ", (%zu more)",
				         n - STACK_LEAVES - STACK_ROOTS);
			continue;
		}
		buf_puts(out, i ? ", " : "");
		buf_clear(&text);
		value_show(&text, name);
		cut_puts(out, buf_str(&text), STACK_NAME, STACK_NAME / 2);
	}
}

static void
cell_show(struct buf *out, const struct column *c, const json_t *row)
{
	const json_t *v = look_up(row, c->key);

	buf_clear(out);
	if (c->show == PERCENT && json_is_number(v))
		buf_addf(out, "%.1f", json_number_value(v));
	else if (c->show == STACK && json_is_array(v))
		stack_show(out, v);
	else
		value_show(out, v);
	if (buf_err(out)) {
		buf_clear(out);
		buf_puts(out, "(too long)");
	}
}

static void
pad(struct buf *out, size_t n)
{
	while (n--)
		buf_putc(out, ' ');
}

/* What a column keeps of a cut text's end: what tells one C++ template from
 * another. */
static size_t
tail_of(const struct column *c, size_t width)
{
	return c->show == NAME || c->show == STACK ? (width - 1) / 2 : 0;
}

static void
put_cell(struct buf *out, const struct column *c, const char *text,
         size_t width, bool last)
{
	size_t n = columns_of(text);
	size_t space = n < width ? width - n : 0;

	if (c->align == RIGHT)
		pad(out, space);
	cut_puts(out, text, width, tail_of(c, width));
	if (c->align == LEFT && !last)
		pad(out, space);
	if (!last)
		pad(out, GAP);
}

static size_t
used_by(const size_t widths[], size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i + 1 < n; i++)
		used += widths[i] + GAP;
	return used;
}

/* The widest column of text before the last that may still shrink; n: none.
 * Numbers are never cut. */
static size_t
widest(const struct column *columns, const size_t widths[], size_t n)
{
	size_t best = n;

	for (size_t i = 0; i + 1 < n; i++)
		if (columns[i].align == LEFT && widths[i] > COLUMN_LEAST &&
		    (best == n || widths[i] > widths[best]))
			best = i;
	return best;
}

/* The last column takes what the others leave of the line; they give way
 * where that is too little to read. */
static void
fit(const struct column *columns, size_t widths[], size_t n, size_t line)
{
	size_t *last = &widths[n - 1], used, i;
	size_t least = *last < LAST_LEAST ? *last : LAST_LEAST;

	while ((used = used_by(widths, n)) + least > line &&
	       (i = widest(columns, widths, n)) < n)
		widths[i]--;
	if (used + *last > line)
		*last = line > used + COLUMN_LEAST ? line - used : COLUMN_LEAST;
}

static void
measure(const struct column *columns, size_t n, const json_t *rows,
        size_t widths[])
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	const json_t *row;
	size_t r;

	for (size_t i = 0; i < n; i++)
		widths[i] = columns_of(columns[i].title);
	json_array_foreach(rows, r, row)
	{
		for (size_t i = 0; i < n; i++) {
			size_t w;

			cell_show(&cell, &columns[i], row);
			w = columns_of(buf_str(&cell));
			widths[i] = w > widths[i] ? w : widths[i];
		}
	}
}

/* Without the blanks that an empty last cell leaves. */
static void
end_row(struct buf *out)
{
	while (out->len && out->p[out->len - 1] == ' ')
		out->len--;
	buf_putc(out, '\n');
}

void
table_show(struct buf *out, const struct column *columns, size_t n,
           const json_t *rows, size_t width)
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	size_t widths[TABLE_COLUMNS_MAX], r;
	const json_t *row;

	measure(columns, n, rows, widths);
	if (width)
		fit(columns, widths, n, width);
	for (size_t i = 0; i < n; i++)
		put_cell(out, &columns[i], columns[i].title, widths[i],
		         i + 1 == n);
	end_row(out);
	json_array_foreach(rows, r, row)
	{
		for (size_t i = 0; i < n; i++) {
			cell_show(&cell, &columns[i], row);
			put_cell(out, &columns[i], buf_str(&cell), widths[i],
			         i + 1 == n);
		}
		end_row(out);
	}
}

static bool
is_used(const struct column *c, const json_t *rows, struct buf *cell)
{
	const json_t *row;
	size_t r;

	json_array_foreach(rows, r, row)
	{
		cell_show(cell, c, row);
		if (cell->len)
			return true;
	}
	return false;
}

void
table_show_used(struct buf *out, const struct column *columns, size_t n,
                const json_t *rows, size_t width)
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	struct column used[TABLE_COLUMNS_MAX];
	size_t nused = 0;

	for (size_t i = 0; i < n; i++)
		if (is_used(&columns[i], rows, &cell))
			used[nused++] = columns[i];
	if (nused)
		table_show(out, used, nused, rows, width);
}

void
object_show(struct buf *out, const json_t *object)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key, v)
	{
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		value_show(&text, v);
		if (!text.len)
			continue;
		safe_puts(out, key);
		buf_addf(out, ": %s\n", buf_str(&text));
	}
}

void
bar_show(struct buf *out, const char *phase, double progress, size_t width)
{
	const size_t around = 12 + 2 + 2 + 7;
	size_t room = width > around + 10 ? width - around : 10, full;

	if (!(progress > 0))
		progress = 0;
	if (progress > 1)
		progress = 1;
	full = (size_t)lrint(progress * (double)room);
	buf_addf(out, "%-12.12s [", phase);
	for (size_t i = 0; i < room; i++)
		buf_putc(out, i < full ? '=' : i == full ? '>' : ' ');
	buf_addf(out, "] %3.0f %% ", progress * 100);
}
