#include "table.h"

#include "name.h"
#include "text.h"

#include <assert.h>
#include <string.h>

#define GAP           2
#define COLUMN_LEAST  10 /* a column of text may shrink to this */
#define LAST_LEAST    34 /* the others shrink to leave the last this much */
#define MEMBER_COLUMN 13 /* where the values of an object begin */
#define NOTE_INDENT   4
#define ID_LEAST      13 /* "sess-" and eight characters identify a profile */

/* Appends the members of an object: exe=/bin/web, or several with commas, or
 * rss (bytes=100). */
static void
members_show(struct buf *out, const json_t *object)
{
	const char *key, *between = "";
	json_t *v;

	json_object_foreach((json_t *)object, key, v) {
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
		json_array_foreach(v, i, item) {
			buf_puts(out, i ? ", " : "");
			value_show(out, item);
		}
	} else if (json_is_object(v)) {
		members_show(out, v);
	} else if (v && !json_is_null(v) && !json_write(v, &text)) {
		safe_puts(out, buf_str(&text));
	}
}

void
value_bare(struct buf *out, const json_t *v)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *s;
	size_t n;

	value_show(&text, v);
	s = buf_str(&text);
	n = strlen(s);
	if (n > 1 && s[0] == '"' && s[n - 1] == '"')
		buf_add(out, s + 1, n - 2);
	else
		buf_puts(out, s);
}

void
member_show(struct buf *out, const char *name, const json_t *v,
            const struct screen *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	value_show(&text, v);
	if (!text.len)
		return;
	buf_addf(out, "%s:", name);
	text_pad(out, MEMBER_COLUMN - text_columns(name) - 1);
	text_wrap(out, buf_str(&text), MEMBER_COLUMN, MEMBER_COLUMN, s->width);
	buf_putc(out, '\n');
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

static void
cell_show(struct buf *out, const struct column *c, const json_t *row,
          const struct screen *s)
{
	const json_t *v = look_up(row, c->key);

	buf_clear(out);
	if (c->show == PERCENT && json_is_number(v))
		buf_addf(out, "%.1f", json_number_value(v));
	else if (c->show == TIME && json_is_string(v))
		screen_time(s, json_string_value(v), out);
	else
		value_show(out, v);
	if (buf_err(out)) {
		buf_clear(out);
		buf_puts(out, "(too long)");
	}
}

static void
cut_cell(struct buf *out, const struct column *c, const char *text,
         size_t width)
{
	if (c->show == NAME)
		name_fit(out, text, width);
	else if (c->show == ID)
		buf_add(out, text, strnlen(text, width));
	else
		text_cut(out, text, width,
		         c->show == MIDDLE ? (width - 1) / 2 : 0);
}

static void
put_cell(struct buf *out, const struct column *c, const char *text,
         size_t width, bool last)
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	size_t n, space;

	cut_cell(&cell, c, text, width);
	n = text_columns(buf_str(&cell));
	space = n < width ? width - n : 0;
	if (c->align == RIGHT)
		text_pad(out, space);
	buf_puts(out, buf_str(&cell));
	if (c->align == LEFT && !last)
		text_pad(out, space);
	if (!last)
		text_pad(out, GAP);
}

static size_t
used_by(const size_t widths[], size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i + 1 < n; i++)
		used += widths[i] + GAP;
	return used;
}

/* Returns the least width that a column may shrink to. */
static size_t
least_of(const struct column *c, size_t width, bool ids)
{
	if (c->align == RIGHT || c->show == TIME)
		return width;
	if (c->show == ID)
		return ids ? ID_LEAST : width;
	return COLUMN_LEAST;
}

/* Returns the widest column before the last that can still shrink; n if there
 * is none. */
static size_t
widest(const struct column *columns, const size_t widths[], size_t n, bool ids)
{
	size_t best = n;

	for (size_t i = 0; i + 1 < n; i++)
		if (widths[i] > least_of(&columns[i], widths[i], ids) &&
		    (best == n || widths[i] > widths[best]))
			best = i;
	return best;
}

/* Fits the columns to a line. The last column takes what the others leave; if
 * that is too narrow to read, the others shrink. */
static void
fit(const struct column *columns, size_t widths[], size_t n, size_t line)
{
	size_t *last = &widths[n - 1], used, i;
	size_t least = *last < LAST_LEAST ? *last : LAST_LEAST;

	while ((used = used_by(widths, n)) + least > line &&
	       (i = widest(columns, widths, n, false)) < n)
		widths[i]--;
	least = least < COLUMN_LEAST ? least : COLUMN_LEAST;
	while ((used = used_by(widths, n)) + least > line &&
	       (i = widest(columns, widths, n, true)) < n)
		widths[i]--;
	if (used + *last > line)
		*last = line > used + least ? line - used : least;
}

static void
measure(const struct column *columns, size_t n, const json_t *rows,
        const struct screen *s, size_t widths[])
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	const json_t *row;
	size_t r;

	for (size_t i = 0; i < n; i++)
		widths[i] = text_columns(columns[i].title);
	json_array_foreach(rows, r, row) {
		for (size_t i = 0; i < n; i++) {
			size_t w;

			cell_show(&cell, &columns[i], row, s);
			w = text_columns(buf_str(&cell));
			widths[i] = w > widths[i] ? w : widths[i];
		}
	}
}

/* Removes trailing spaces, which an empty last cell leaves. */
static void
trim(struct buf *out)
{
	while (out->len && out->p[out->len - 1] == ' ')
		out->len--;
	if (out->len)
		out->p[out->len] = '\0';
}

static void
put_titles(struct buf *out, const struct column *columns, const size_t widths[],
           size_t n, const struct screen *s)
{
	CLEANUP_BUF struct buf line = BUF_INIT(CELL_MAX);

	for (size_t i = 0; i < n; i++)
		put_cell(&line, &columns[i], columns[i].title, widths[i],
		         i + 1 == n);
	trim(&line);
	screen_puts(s, STYLE_HEAD, buf_str(&line), out);
	buf_putc(out, '\n');
}

static void
put_note(struct buf *out, const json_t *row, const struct screen *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&text, json_member(row, TABLE_NOTE));
	if (!text.len)
		return;
	text_pad(out, NOTE_INDENT);
	text_wrap(out, buf_str(&text), NOTE_INDENT, NOTE_INDENT, s->width);
	buf_putc(out, '\n');
}

void
table_note(json_t *rows, const char *key)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		const json_t *v = json_object_get(row, key);
		const char *note = json_member(row, TABLE_NOTE);

		if (!json_object_size(v))
			continue;
		if (*note)
			buf_addf(&text, "%s; ", note);
		value_show(&text, v);
		json_object_set_new(row, TABLE_NOTE, json_text(buf_str(&text)));
	}
}

void
table_show(struct buf *out, const struct column *columns, size_t n,
           const json_t *rows, const struct screen *s)
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	size_t widths[TABLE_COLUMNS_MAX], r;
	const json_t *row;

	assert(n <= TABLE_COLUMNS_MAX);
	measure(columns, n, rows, s, widths);
	if (s->width)
		fit(columns, widths, n, s->width);
	put_titles(out, columns, widths, n, s);
	json_array_foreach(rows, r, row) {
		for (size_t i = 0; i < n; i++) {
			cell_show(&cell, &columns[i], row, s);
			put_cell(out, &columns[i], buf_str(&cell), widths[i],
			         i + 1 == n);
		}
		trim(out);
		buf_putc(out, '\n');
		put_note(out, row, s);
	}
}

static bool
is_used(const struct column *c, const json_t *rows, const struct screen *s)
{
	CLEANUP_BUF struct buf cell = BUF_INIT(CELL_MAX);
	const json_t *row;
	size_t r;

	json_array_foreach(rows, r, row) {
		cell_show(&cell, c, row, s);
		if (cell.len)
			return true;
	}
	return false;
}

void
table_show_used(struct buf *out, const struct column *columns, size_t n,
                const json_t *rows, const struct screen *s)
{
	struct column used[TABLE_COLUMNS_MAX];
	size_t nused = 0;

	assert(n <= TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < n; i++)
		if (is_used(&columns[i], rows, s))
			used[nused++] = columns[i];
	if (nused)
		table_show(out, used, nused, rows, s);
}

void
table_show_to(struct buf *out, const struct column *columns, size_t n,
              const json_t *rows, const struct screen *s)
{
	(s->width ? table_show_used : table_show)(out, columns, n, rows, s);
}
