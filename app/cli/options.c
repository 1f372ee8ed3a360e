#include "options.h"

#include "base/clock.h"
#include "base/ways.h"
#include "near.h"
#include "profile/export.h"
#include "profile/types.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define NAME_MAX_ 32
#define DOC_MAX   512

enum kind { TEXT, NUMBER, SECONDS, DAYS, FLAG, LIST };
enum scope { GLOBAL, OWN };

static const struct {
	const char *field;
	const char *arg, *doc, *params;
	enum kind kind;
	enum scope scope;
	size_t offset;
} rows[] = {
#define OPTION(field, scope, kind, arg, doc, params) \
	{#field,                                     \
	 arg,                                        \
	 doc,                                        \
	 params,                                     \
	 kind,                                       \
	 scope,                                      \
	 offsetof(struct options, field)},
#include "options.def"
#undef OPTION
};

static const struct {
	const char *field, *command, *doc;
} meanings[] = {
#define MEANING(field, command, doc) {#field, command, doc},
#include "options.def"
#undef MEANING
};

static const struct options nothing = {
#define ABSENT_TEXT    NULL
#define ABSENT_NUMBER  (-1)
#define ABSENT_SECONDS (-1)
#define ABSENT_DAYS    (-1)
#define ABSENT_FLAG    false
#define ABSENT_LIST    \
	{              \
		.n = 0 \
	}
#define OPTION(field, scope, kind, arg, doc, params) .field = ABSENT_##kind,
#include "options.def"
#undef OPTION
};

static const char *
name_of(size_t row)
{
	static char names[ARRAY_LEN(rows)][NAME_MAX_];
	char *p = names[row];

	if (*p)
		return p;
	*p++ = '-';
	*p++ = '-';
	for (const char *f = rows[row].field; *f; f++)
		*p++ = *f == '_' ? '-' : *f;
	return names[row];
}

struct option_row
option_row(size_t i)
{
	return (struct option_row){
		.name = name_of(i),
		.arg = rows[i].arg,
		.doc = rows[i].doc,
		.parameters = rows[i].params,
		.global = rows[i].scope == GLOBAL,
	};
}

static const char *
type_name(size_t i)
{
	return i < profile_ntypes ? profile_types[i].name : NULL;
}

static const char *
captured_name(size_t i)
{
	for (size_t t = 0; t < profile_ntypes; t++)
		if (ways_exist(profile_types[t].name) && !i--)
			return profile_types[t].name;
	return NULL;
}

static const char *
input_name(size_t i)
{
	static const char *const names[] = {
#define INPUT(name, content_types, doc) #name,
#include "inputs.def"
#undef INPUT
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

static const char *
format_name(size_t i)
{
	return i < nformats ? formats[i].name : NULL;
}

static const char *
allow_name(size_t i)
{
	static const char *const names[] = {
#define ALLOW(id, key, doc) key,
#include "allow.def"
#undef ALLOW
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

/* Appends "a, b or c". */
static void
put_names(struct buf *out, const char *(*name)(size_t i))
{
	for (size_t i = 0; name(i); i++)
		buf_addf(out, "%s%s",
		         !i            ? ""
		         : name(i + 1) ? ", "
		                       : " or ",
		         name(i));
}

/* Returns doc with {types}, {captured}, {allowed}, {inputs} or {formats}
 * replaced by names. */
static const char *
with_names(const char *doc)
{
	static const struct {
		const char *word;
		const char *(*name)(size_t i);
	} lists[] = {
		{"{types}", type_name},     {"{captured}", captured_name},
		{"{allowed}", allow_name},  {"{inputs}", input_name},
		{"{formats}", format_name},
	};
	static char text[DOC_MAX];

	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		const char *at = strstr(doc, lists[l].word);
		CLEANUP_BUF struct buf out = BUF_INIT(sizeof(text) - 1);

		if (!at)
			continue;
		buf_add(&out, doc, (size_t)(at - doc));
		put_names(&out, lists[l].name);
		buf_puts(&out, at + strlen(lists[l].word));
		strcpy(text, buf_str(&out));
		return text;
	}
	return doc;
}

const char *
option_doc(size_t i, const char *command)
{
	const char *doc = rows[i].doc;

	for (size_t m = 0; m < ARRAY_LEN(meanings); m++)
		if (!strcmp(meanings[m].field, rows[i].field) &&
		    !strcmp(meanings[m].command, command))
			doc = meanings[m].doc;
	return with_names(doc);
}

/* Finds the row of "--name" or "--name=value"; *value is the text after '='. */
static int
find(const char *word, const char **value)
{
	size_t n = strcspn(word, "=");

	*value = word[n] ? word + n + 1 : NULL;
	if (!strcmp(word, "-h"))
		return find("--help", value);
	if (!strcmp(word, "-V"))
		return find("--version", value);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(name_of(i)) == n && !strncmp(name_of(i), word, n))
			return (int)i;
	return -1;
}

static int
set_number(const char *text, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || end == text || *end || v < 0)
		return -EINVAL;
	*out = v;
	return 0;
}

/* Reads a span as a whole number of units; a plain number counts units. */
static int
set_span(const char *text, int64_t unit_ms, int64_t *out)
{
	int64_t ms;

	if (!set_number(text, out))
		return 0;
	if (clock_read_span(text, &ms) || ms % unit_ms)
		return -EINVAL;
	*out = ms / unit_ms;
	return 0;
}

static int
set_count(enum kind kind, const char *text, int64_t *out)
{
	if (kind == NUMBER)
		return set_number(text, out);
	return set_span(text, kind == DAYS ? 86400 * MS_PER_S : MS_PER_S, out);
}

/* Returns how the value of a numeric option is written; NULL for other
 * kinds. */
static const char *
count_expected(enum kind kind)
{
	return kind == SECONDS  ? "a time such as 10s, 2m or 1h"
	       : kind == DAYS   ? "a number of days such as 30, 30d or 12w"
	       : kind == NUMBER ? "a whole number"
	                        : NULL;
}

static int
add_word(struct words *list, const char *word)
{
	if (list->n == LIST_MAX)
		return -E2BIG;
	list->p[list->n++] = word;
	return 0;
}

static int
set(struct options *o, int row, const char *value, struct buf *why)
{
	void *at = (char *)o + rows[row].offset;

	switch (rows[row].kind) {
	case FLAG:
		*(bool *)at = true;
		return 0;
	case TEXT:
		*(const char **)at = value;
		return 0;
	case LIST:
		if (!add_word(at, value))
			return 0;
		buf_addf(why, "more than %d times %s", LIST_MAX,
		         name_of((size_t)row));
		return -EINVAL;
	case NUMBER:
	case SECONDS:
	case DAYS:
		if (!set_count(rows[row].kind, value, at))
			return 0;
		buf_addf(why, "%s takes %s, not '%s'", name_of((size_t)row),
		         count_expected(rows[row].kind), value);
	}
	return -EINVAL;
}

static int
unknown_option(const char *word, struct buf *why)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	struct near near;

	buf_add(&name, word, strcspn(word, "="));
	near = NEAR(buf_str(&name));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		near_try(&near, name_of(i));
	buf_addf(why, "no such option: %s", word);
	near_show(&near, why);
	return -EINVAL;
}

static int
take_option(struct options *o, char *const argv[], int *i, struct buf *why)
{
	const char *value;
	int row = find(argv[*i], &value);

	if (row < 0)
		return unknown_option(argv[*i], why);
	if (rows[row].kind == FLAG && value) {
		buf_addf(why, "%s takes no value", name_of((size_t)row));
		return -EINVAL;
	}
	if (rows[row].kind != FLAG && !value && !(value = argv[++*i])) {
		buf_addf(why, "%s needs a value: %s", name_of((size_t)row),
		         rows[row].arg);
		return -EINVAL;
	}
	o->typed[row] = value ? value : "";
	return set(o, row, value, why);
}

int
options_parse(int argc, char *argv[], struct options *out, struct buf *why)
{
	struct options o = nothing;
	char **end = argv + 1; /* end of the operands */
	bool only_operands = false;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!only_operands && !strcmp(word, "--")) {
			only_operands = true;
			o.nbefore = (size_t)(end - argv) - 1;
		} else if (!only_operands && word[0] == '-' && word[1]) {
			if (take_option(&o, argv, &i, why))
				return -EINVAL;
		} else {
			*end++ = word;
		}
	}
	if (end < argv + argc)
		*end = NULL;
	o.operands = (const char *const *)argv + 1;
	o.noperands = (size_t)(end - argv) - 1;
	if (!only_operands)
		o.nbefore = o.noperands;
	*out = o;
	return 0;
}

bool
usage_names(const char *usage, const char *option)
{
	size_t n = strlen(option);

	for (const char *p = usage; (p = strstr(p, option)); p += n)
		if (!isalnum((unsigned char)p[n]) && p[n] != '-')
			return true;
	return false;
}

int
options_fit(const struct options *o, const char *usage, struct buf *why)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].scope == GLOBAL || !o->typed[i] ||
		    usage_names(usage, name_of(i)))
			continue;
		buf_addf(why, "%s does not go with this command", name_of(i));
		return -EINVAL;
	}
	return 0;
}

/* True if the space-separated list has the word. */
static bool
has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

bool
option_of(const struct options *o, const char *parameter,
          struct option_given *out)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!has_word(rows[i].params, parameter) || !o->typed[i])
			continue;
		*out = (struct option_given){
			.name = name_of(i),
			.value = rows[i].kind == LIST ? NULL : o->typed[i],
			.count = count_expected(rows[i].kind),
			.unit = rows[i].kind == SECONDS ? "seconds"
		                : rows[i].kind == DAYS  ? "days"
		                                        : "",
		};
		return true;
	}
	return false;
}
