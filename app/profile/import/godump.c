#include "godump_private.h"

#include <errno.h>

#define LOOK ((size_t)8 << 10) /* the first goroutine begins within this */

static bool
next_line(struct text *rest, struct text *out)
{
	const char *end;

	if (!rest->n)
		return false;
	end = memchr(rest->p, '\n', rest->n);
	*out = (struct text){rest->p, end ? (size_t)(end - rest->p) : rest->n};
	text_skip(rest, *out);
	text_skip(rest, TEXT("\n"));
	if (text_ends(*out, TEXT("\r")))
		out->n--;
	return true;
}

/* --- frames --------------------------------------------------------------- */

static void
add_location(struct dump *d, uint32_t location)
{
	if (d->nstack == PROFILE_MAX_FRAMES)
		d->cut = true;
	else
		d->stack[d->nstack++] = location;
}

/* Adds a location for a function and the functions inlined into it. */
static int
flush_lines(struct dump *d)
{
	uint32_t location;
	int rc = 0;

	if (d->ninlined)
		rc = profile_location(d->p, PROFILE_NONE, 0, d->inlined,
		                      d->ninlined, &location);
	if (!rc && d->ninlined)
		add_location(d, location);
	d->ninlined = 0;
	return rc;
}

static int
add_line(struct dump *d, struct text name, struct text file, uint64_t number)
{
	struct function f = {0};
	struct line *l = &d->inlined[d->ninlined];
	int rc = profile_string(d->p, name.p, name.n, &f.name);

	f.system_name = f.name;
	if (!rc)
		rc = profile_string(d->p, file.p, file.n, &f.file);
	if (!rc)
		rc = profile_function(d->p, &f, &l->function);
	if (rc)
		return rc;
	l->line = (int64_t)number;
	d->seen.frames++;
	if (++d->ninlined < PROFILE_MAX_LINES && d->is_inlined)
		return 0;
	return flush_lines(d);
}

/* Splits "\tFILE:LINE +0x1d" into FILE and LINE. */
static bool
read_place(struct text line, struct text *file, uint64_t *number)
{
	struct text digits;

	text_skip(&line, TEXT("\t"));
	line.n = text_find(line, TEXT(" +0x"));
	for (size_t i = line.n; i-- > 0;) {
		if (line.p[i] != ':')
			continue;
		*file = (struct text){line.p, i};
		digits = (struct text){line.p + i + 1, line.n - i - 1};
		return text_number(&digits, number) && !digits.n;
	}
	return false;
}

static int
take_file(struct dump *d, struct text line)
{
	struct text file;
	uint64_t number;

	if (text_find(line, TEXT("stack unavailable")) < line.n) {
		d->unavailable = true;
		return 0;
	}
	if (!d->expects_file || !read_place(line, &file, &number))
		return 0;
	d->expects_file = false;
	if (d->is_creator) {
		d->created_at = (struct text){
			file.p, (size_t)(line.p + line.n - file.p)};
		d->created_at.n = text_find(d->created_at, TEXT(" +0x"));
		return 0;
	}
	return add_line(d, d->function, file, number);
}

/* Returns the place of the "(" that matches the ")" at the end, or line.n. */
static size_t
arguments(struct text line)
{
	size_t depth = 0;

	for (size_t i = line.n; i-- > 0;) {
		if (line.p[i] == ')')
			depth++;
		else if (line.p[i] == '(' && --depth == 0)
			return i;
	}
	return line.n;
}

static void
take_function(struct dump *d, struct text line)
{
	size_t at = text_ends(line, TEXT(")")) ? arguments(line) : line.n;

	if (at == 0 || at == line.n)
		return; /* a line of a newer runtime, or not Go's */
	d->is_inlined = text_ends(line, TEXT("(...)"));
	d->function = (struct text){line.p, at};
	if (at == 5 && !memcmp(line.p, "panic", 5))
		d->function = TEXT("runtime.gopanic");
	d->is_creator = false;
	d->expects_file = true;
}

static void
take_creator(struct dump *d, struct text line)
{
	struct text tail;

	d->creator = line;
	d->creator.n = text_find(line, TEXT(" in goroutine "));
	tail = (struct text){line.p + d->creator.n, line.n - d->creator.n};
	if (text_skip(&tail, TEXT(" in goroutine ")) &&
	    !text_number(&tail, &d->parent))
		d->parent = 0;
	d->is_creator = d->expects_file = true;
}

static int
take_elided(struct dump *d)
{
	struct line l = {0};
	struct function f = {0};
	int rc = flush_lines(d);

	d->cut = true;
	if (!rc && d->elided == PROFILE_NONE) {
		rc = profile_cstring(d->p, GODUMP_ELIDED, &f.name);
		f.system_name = f.name;
		if (!rc)
			rc = profile_function(d->p, &f, &l.function);
		if (!rc)
			rc = profile_location(d->p, PROFILE_NONE, 0, &l, 1,
			                      &d->elided);
	}
	if (!rc)
		add_location(d, d->elided);
	return rc;
}

/* --- goroutines ----------------------------------------------------------- */

static int
end_goroutine(struct dump *d)
{
	struct label labels[PROFILE_MAX_LABELS];
	const int64_t one = 1;
	uint32_t n;
	int rc;

	if (!d->open)
		return 0;
	d->open = false;
	if (d->seen.goroutines == GODUMP_MAX_GOROUTINES)
		return -E2BIG;
	rc = flush_lines(d);
	if (!rc)
		rc = godump_labels(d, labels, &n);
	if (!rc)
		rc = profile_sample(d->p, d->stack, d->nstack, labels, n, &one);
	d->seen.goroutines++;
	d->seen.unavailable += d->unavailable;
	d->seen.elided += d->cut;
	return rc;
}

static void
begin_goroutine(struct dump *d, const struct godump_head *head)
{
	d->head = *head;
	d->open = true;
	d->ancestors = d->cut = d->unavailable = false;
	d->is_creator = d->is_inlined = d->expects_file = false;
	d->nstack = d->ninlined = 0;
	d->creator = d->created_at = d->function = TEXT("");
	d->parent = 0;
}

static int
take_line(struct dump *d, struct text line)
{
	struct godump_head head;
	int rc;

	if (godump_head(line, &head)) {
		rc = end_goroutine(d);
		begin_goroutine(d, &head);
		return rc;
	}
	if (!line.n)
		return end_goroutine(d);
	if (!d->open || d->ancestors)
		return 0;
	if (*line.p == '\t')
		return take_file(d, line);
	if (text_skip(&line, TEXT("created by ")))
		take_creator(d, line);
	else if (*line.p == '[')
		d->ancestors = true;
	else if (*line.p == '.' && text_ends(line, TEXT("elided...")))
		return take_elided(d);
	else
		take_function(d, line);
	return 0;
}

/* True if the dump ends within a line. The runtime truncates at a size,
 * anywhere in a line; a copy may merely have lost the last newline. */
static bool
is_cut(const struct dump *d, struct text all, struct text last)
{
	struct text file;
	uint64_t number;

	if (!d->open || text_ends(all, TEXT("\n")))
		return false;
	return all.n >= GODUMP_MAX_BYTES || !last.n || *last.p != '\t' ||
	       !read_place(last, &file, &number);
}

static int
parse(struct dump *d, struct text all)
{
	struct text rest = all, line = {0};
	int rc = 0;

	while (!rc && next_line(&rest, &line))
		rc = take_line(d, line);
	if (!rc && is_cut(d, all, line)) {
		d->seen.truncated = true;
		d->open = false;
	}
	if (!rc)
		rc = end_goroutine(d);
	return rc ? rc : d->seen.goroutines ? 0 : -EBADMSG;
}

static int
prepare(struct dump *d)
{
	int rc = d->p ? profile_type(d->p, "goroutine", "count") : -ENOMEM;

	for (size_t i = 0; i < GOROUTINE_LABELS && !rc; i++)
		rc = profile_cstring(d->p, goroutine_keys[i], &d->keys[i]);
	if (rc)
		return rc;
	d->p->period_type = d->p->types[0];
	d->p->period = 1;
	return 0;
}

static void
explain(int rc, struct buf *why)
{
	if (rc == -E2BIG)
		buf_addf(why, "more than %u goroutines, or %zu MiB",
		         GODUMP_MAX_GOROUTINES, GODUMP_MAX_BYTES >> 20);
	else
		buf_puts(why, rc == -EBADMSG ? "no goroutine in it"
		                             : "out of memory");
}

int
godump_parse(const void *p, size_t n, struct profile **out,
             struct godump_seen *seen, struct buf *why)
{
	CLEANUP_PROFILE struct profile *profile = profile_new();
	CLEANUP_FREE struct dump *d = calloc(1, sizeof(*d));
	int rc = d ? 0 : -ENOMEM;

	if (n > GODUMP_MAX_BYTES)
		rc = -E2BIG;
	if (!rc) {
		d->p = profile;
		d->elided = PROFILE_NONE;
		d->a = d->b = BUF_INIT(GODUMP_MAX_LABEL);
		rc = prepare(d);
		if (!rc)
			rc = parse(d, (struct text){p, n});
		buf_done(&d->a);
		buf_done(&d->b);
	}
	if (rc) {
		explain(rc, why);
		return rc;
	}
	*seen = d->seen;
	*out = TAKE(profile);
	return 0;
}

bool
godump_looks_like(const void *p, size_t n)
{
	struct text rest = {p, n < LOOK ? n : LOOK}, line;
	struct godump_head head;

	while (next_line(&rest, &line))
		if (godump_head(line, &head))
			return true;
	return false;
}
