#include "stacks.h"

#include "name.h"
#include "table.h"
#include "text.h"

#include <string.h>

#define INDENT         4
#define GAP            2
#define FOLD_LEAST     3  /* if fewer callers are shared, they are repeated */
#define LOCATION_MOST  28 /* columns, if a line is too short for all */
#define FUNCTION_LEAST 20

void
stacks_done(struct stacks *k)
{
	json_decref(k->shown);
	k->shown = NULL;
}

/* --- which functions ------------------------------------------------------ */

/* Counts the callers that two stacks share, from the outermost on. */
static size_t
shared(const json_t *a, const json_t *b)
{
	size_t na = json_array_size(a), nb = json_array_size(b), n = 0;

	while (n < na && n < nb &&
	       json_equal(json_array_get(a, na - 1 - n),
	                  json_array_get(b, nb - 1 - n)))
		n++;
	return n;
}

/* Returns the number, from 1, of the first stack shown that shares the most
 * callers. *most is 0 if none shares enough. */
static size_t
most_shared(const struct stacks *k, const json_t *frames, size_t *most)
{
	size_t number = 0, i;
	const json_t *stack;

	*most = 0;
	json_array_foreach(k->shown, i, stack) {
		size_t n = shared(json_object_get(stack, "frames"), frames);

		if (n >= FOLD_LEAST && n > *most) {
			*most = n;
			number = i + 1;
		}
	}
	return number;
}

/* --- their columns -------------------------------------------------------- */

static void
get_safe(struct buf *out, const json_t *list, size_t i)
{
	buf_clear(out);
	safe_puts(out, json_item(list, i));
}

static size_t
widest_of(const json_t *list, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	size_t widest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t w;

		get_safe(&text, list, i);
		w = text_columns(buf_str(&text));
		widest = w > widest ? w : widest;
	}
	return widest;
}

struct widths {
	size_t function, location;
};

/* Divides a line between functions and locations. */
static struct widths
fit(const struct screen *s, const json_t *stack, size_t n)
{
	struct widths w = {
		widest_of(json_object_get(stack, "frames"), n),
		widest_of(json_object_get(stack, "locations"), n),
	};
	size_t line = s->width > INDENT + GAP ? s->width - INDENT - GAP : 0;

	if (!s->width || w.function + w.location <= line)
		return w;
	if (w.location > LOCATION_MOST)
		w.location = LOCATION_MOST;
	if (w.function + w.location > line)
		w.function = line > w.location + FUNCTION_LEAST
		                     ? line - w.location
		                     : FUNCTION_LEAST;
	return w;
}

/* Appends a location; leaves out its folders first, then its middle. */
static void
put_location(struct buf *out, const char *at, size_t width)
{
	const char *slash = strrchr(at, '/');

	if (text_columns(at) > width && slash)
		at = slash + 1;
	text_cut(out, at, width, width / 2);
}

static void
put_frame(struct buf *out, const json_t *stack, size_t i,
          const struct widths *w)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

	get_safe(&text, json_object_get(stack, "frames"), i);
	name_fit(&name, buf_str(&text), w->function);
	text_pad(out, INDENT);
	buf_puts(out, buf_str(&name));
	get_safe(&text, json_object_get(stack, "locations"), i);
	if (text.len) {
		text_pad(out, GAP + w->function - text_columns(buf_str(&name)));
		put_location(out, buf_str(&text), w->location);
	}
	buf_putc(out, '\n');
}

/* --- a stack -------------------------------------------------------------- */

static void
put_frames(const struct stacks *k, const json_t *stack, struct buf *out)
{
	const json_t *frames = json_object_get(stack, "frames");
	size_t folded, number = most_shared(k, frames, &folded);
	size_t n = json_array_size(frames) - folded;
	struct widths w = fit(k->screen, stack, n);

	for (size_t i = 0; i < n; i++) {
		if (i == STACK_LEAVES && n > STACK_LEAVES + STACK_ROOTS + 1) {
			i = n - STACK_ROOTS;
			buf_addf(out, "%*s... %zu more\n", INDENT, "",
			         i - STACK_LEAVES);
		}
		put_frame(out, stack, i, &w);
	}
	if (folded)
		buf_addf(out, "%*s... %zu callers as of #%zu\n", INDENT, "",
		         folded, number);
}

static void
put_counts(const json_t *stack, struct buf *out)
{
	const json_t *base = json_object_get(stack, "baseCount"),
		     *now = json_object_get(stack, "compareCount");

	if (json_is_integer(base) && json_is_integer(now))
		buf_addf(out,
		         "%" JSON_INTEGER_FORMAT " before, "
		         "%" JSON_INTEGER_FORMAT " now",
		         json_integer_value(base), json_integer_value(now));
	else
		buf_addf(out, "%" JSON_INTEGER_FORMAT,
		         json_integer_value(json_object_get(stack, "count")));
}

/* Appends "#1: 8 waiting (channel send), created by main.main". */
static void
put_title(size_t number, const json_t *stack, struct buf *out)
{
	const char *reason = json_member(stack, "waitReason"),
		   *creator = json_member(stack, "createdBy");

	buf_addf(out, "#%zu: ", number);
	put_counts(stack, out);
	buf_putc(out, ' ');
	safe_puts(out, json_member(stack, "state"));
	if (*reason) {
		buf_puts(out, " (");
		safe_puts(out, reason);
		buf_putc(out, ')');
	}
	if (*creator) {
		buf_puts(out, ", created by ");
		safe_puts(out, creator);
	}
}

static void
show_one(struct stacks *k, json_t *stack, struct buf *out)
{
	CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf wrapped = BUF_INIT(BUF_MAX_SMALL);

	put_title(json_array_size(k->shown) + 1, stack, &title);
	text_wrap(&wrapped, buf_str(&title), 0, INDENT, k->screen->width);
	screen_puts(k->screen, STYLE_HEAD, buf_str(&wrapped), out);
	buf_putc(out, '\n');
	put_frames(k, stack, out);
	json_array_append(k->shown, stack);
}

void
stacks_show(struct stacks *k, const json_t *list, int64_t limit,
            struct buf *out)
{
	json_t *stack;
	size_t i;

	if (!k->shown)
		k->shown = json_array();
	json_array_foreach(list, i, stack) {
		if ((int64_t)i >= limit)
			return;
		buf_puts(out, i ? "\n" : "");
		show_one(k, stack, out);
	}
}
