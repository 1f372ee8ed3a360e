/*
 * Defines the types of params.def: their words, and how to describe them.
 */
#include "tables.h"

#include "base/id.h"
#include "base/ways.h"
#include "profile/diff.h"
#include "store/baseline.h"
#include "store/browser_session.h"
#include "store/debug_file.h"
#include "store/session.h"
#include "store/token.h"
#include "store/trigger.h"
#include "store/window.h"

#include <assert.h>
#include <string.h>

static const char *const resolution_words[] = {
	"auto", "captured", "minute", "hour", "day", "none", NULL};
static const char *const type_words[] = {
#define PROFILE_TYPE(name, ...) #name,
#include "types.def"
#undef PROFILE_TYPE
	NULL,
};
static const char *const input_words[] = {
#define INPUT(name, content_types, doc) #name,
#include "inputs.def"
#undef INPUT
	NULL};
static const char *const view_words[] = {
#define FORMAT(name, content_type, extension, use, doc) #name,
#include "formats.def"
#undef FORMAT
	NULL,
};
static const char *const diff_words[] = {
#define DIFF_FORMAT(name, by, doc) #name,
#include "diff_formats.def"
#undef DIFF_FORMAT
	NULL,
};
static const char *const kind_words[] = {"auto", "native", "go", NULL};
static const char *const source_words[] = {"auto", "outside", "endpoint", NULL};
static const char *const status_words[] = {"running", "completed", "failed",
                                           NULL};
static const char *const origin_words[] = {"capture", "upload", "samply", NULL};
static const char *const windows_words[] = {"auto", "captured", "pushed", "all",
                                            NULL};
static const char *const about_words[] = {"all",   "hottest", "changed",
                                          "waits", "memory",  NULL};
static const char *const role_words[] = {"viewer", "operator", "admin", "join",
                                         NULL};

/* Returns the types that can be captured. */
static const char *const *
captured_words(void)
{
	static const char *words[ARRAY_LEN(type_words)];
	size_t n = 0;

	for (size_t i = 0; type_words[i]; i++)
		if (ways_exist(type_words[i]))
			words[n++] = type_words[i];
	return words;
}

const char *const *
param_words(enum param_type type)
{
	switch (type) {
	case PT_RESOLUTION:
		return resolution_words;
	case PT_TYPE:
		return type_words;
	case PT_CAPTURED:
	case PT_TYPES:
		return captured_words();
	case PT_VIEW:
		return view_words;
	case PT_INPUT:
		return input_words;
	case PT_DIFF:
		return diff_words;
	case PT_MEASURE:
		return compare_bys;
	case PT_SHAPE:
		return diff_shapes;
	case PT_KIND:
		return kind_words;
	case PT_SOURCE:
		return source_words;
	case PT_STATUS:
		return status_words;
	case PT_ORIGIN:
		return origin_words;
	case PT_WINDOWS:
		return windows_words;
	case PT_ROLE:
		return role_words;
	case PT_ABOUT:
		return about_words;
	default:
		return NULL;
	}
}

static const char *const kinds[] = {
	[PT_TEXT] = "a text of %lld to %lld bytes without control characters",
	[PT_INT] = "an integer from %lld to %lld",
	[PT_BOOL] = "true or false",
	[PT_TIME] = "a time like 2026-01-15T08:00:00Z, now-1h, or a number "
		    "of s, ms, us or ns since 1970",
	[PT_SPAN] = "a span of time like 15s, 5m, 6h, 7d or 2w, %lld to %lld "
		    "ms",
	[PT_MATCHES] = "%lld to %lld of NAME.KEY=VALUE, a key of 1 to 63 "
		       "bytes and a value of at most 200",
	[PT_NAME] = "a name of letters, digits, '.', '_' and '-', %lld to %lld "
		    "characters, a letter or digit at both ends",
#define ID_KIND(type, unknown, doc, ...) [PT_##type] = doc,
#include "id_kinds.def"
#undef ID_KIND
	[PT_WORDS] = "a list of %lld to %lld names",
	[PT_TYPES] = "a list of %lld to %lld profile types",
	[PT_LABELS] = "an object of texts, %lld to %lld members",
	[PT_TAGS] = "a list of %lld to %lld texts of 1 to 63 bytes",
	[PT_FRAMES] = "a list of %lld to %lld texts of 1 to 500 bytes",
	[PT_FUNCTIONS] = "a list of %lld to %lld topFunctions entries",
	[PT_LIST] = "a list of %lld to %lld objects",
	[PT_OBJECT] = "an object of %lld to %lld members",
	[PT_MESSAGE] = "a text or an integer",
};

static const char *const prefixes[][3] = {
#define ID_KIND(type, unknown, doc, ...) [PT_##type] = {__VA_ARGS__},
#include "id_kinds.def"
#undef ID_KIND
};

bool
param_id_valid(enum param_type type, const char *value)
{
	for (const char *const *p = prefixes[type]; *p; p++)
		if (id_valid(*p, value))
			return true;
	return false;
}

void
param_expects(const struct param_row *p, struct buf *out)
{
	const char *const *words = kinds[p->type] ? NULL : param_words(p->type);

	if (!words) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		buf_addf(out, kinds[p->type], (long long)p->min,
		         (long long)p->max);
#pragma GCC diagnostic pop
		return;
	}
	buf_puts(out, "one of ");
	for (size_t i = 0; words[i]; i++) {
		buf_puts(out, i ? ", " : "");
		buf_puts(out, words[i]);
	}
	for (size_t i = 0; p->type == PT_CAPTURED && type_words[i]; i++)
		if (!ways_exist(type_words[i]))
			buf_addf(out,
			         " (%s is not captured, but uploaded or "
			         "pushed)",
			         type_words[i]);
}

/* --- members of objects --------------------------------------------------- */

const struct member_row members[] = {
#define MEMBER(object, name, type, min, max, def, doc) \
	{#object, {0, IN_BODY, #name, PT_##type, false, min, max, def, doc}},
#include "members.def"
#undef MEMBER
#define ALLOW(id, key, doc) \
	{"allow", {0, IN_BODY, key, PT_BOOL, false, 0, 1, "", doc}},
#include "allow.def"
#undef ALLOW
};
const size_t nmembers = ARRAY_LEN(members);

const struct param_row *
member_find(const char *object, const char *name)
{
	size_t i = 0;

	while (i < nmembers && (strcmp(members[i].object, object) != 0 ||
	                        strcmp(members[i].row.name, name) != 0))
		i++;
	assert(i < nmembers);
	return &members[i].row;
}
