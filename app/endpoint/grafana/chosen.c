#include "chosen.h"

#include "base/pattern.h"
#include "connect.h"
#include "selector.h"

#include <errno.h>
#include <string.h>

void
chosen_done(struct chosen *s)
{
	for (size_t i = 0; i < s->nnames; i++)
		if (s->names[i].is_pattern)
			regfree(&s->names[i].re);
	free(s->under);
}

/* --- call sites ----------------------------------------------------------- */

static int
read_call_site(struct call *c, const json_t *sites, struct chosen *out)
{
	size_t i;
	json_t *v;

	if (json_array_size(sites) > CHOSEN_MAX_FRAMES)
		return fail(c, InvalidMessage, "call_site has too many names");
	out->under = calloc(json_array_size(sites) + 1, sizeof(*out->under));
	if (!out->under)
		return fail_memory(c);
	out->sift.under = out->under;
	json_array_foreach((json_t *)sites, i, v)
		out->under[out->sift.nunder++] = asked_text(v, "name");
	return 0;
}

/* --- filters of frames ---------------------------------------------------- */

static bool
is_name(const struct chosen_name *n, const char *name)
{
	return n->is_pattern ? pattern_matches(&n->re, name)
	                     : !strcmp(n->text, name);
}

static uint32_t
bits(const void *of, const char *name)
{
	const struct chosen *s = of;
	uint32_t all = 0;

	for (size_t i = 0; i < s->nnames; i++)
		if (!(all & s->names[i].bit) && is_name(&s->names[i], name))
			all |= s->names[i].bit;
	return all;
}

/* The lists of a filter. */
static const struct {
	const char *name;
	bool excludes, patterns;
} lists[] = {
	{"include_function_names", false, false},
	{"exclude_function_names", true, false},
	{"include_function_name_regexes", false, true},
	{"exclude_function_name_regexes", true, true},
};

static int
add_name(struct call *c, struct chosen *s, size_t list, const char *text)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct chosen_name *n = &s->names[s->nnames];
	size_t excluded = s->nnames - s->ninclude;
	bool excludes = lists[list].excludes;
	int rc;

	if (excludes ? excluded == CHOSEN_MAX_EXCLUDE
	             : s->ninclude == CHOSEN_MAX_INCLUDE) {
		buf_addf(&why, "%s: a frame_filter has at most %d of these",
		         lists[list].name,
		         excludes ? CHOSEN_MAX_EXCLUDE : CHOSEN_MAX_INCLUDE);
		return fail(c, InvalidMessage, buf_str(&why));
	}
	rc = lists[list].patterns ? selector_pattern(lists[list].name, text,
	                                             false, &n->re, &why)
	                          : 0;
	if (rc == -ENOMEM)
		return fail_memory(c);
	if (rc)
		return fail(c, InvalidMessage, buf_str(&why));
	n->text = text;
	n->is_pattern = lists[list].patterns;
	n->bit = excludes ? SIFT_OUT : UINT32_C(1) << s->ninclude;
	s->ninclude += !excludes;
	s->nnames++;
	return 0;
}

static int
read_filter(struct call *c, const json_t *filter, struct chosen *out)
{
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		size_t i;
		json_t *v;

		json_array_foreach((json_t *)asked_list(filter, lists[k].name),
		                   i, v)
			if (add_name(c, out, k, json_string_value(v)))
				return -1;
	}
	if (out->nnames)
		out->sift.frames = (struct sift_frames){
			bits, out, (UINT32_C(1) << out->ninclude) - 1};
	return 0;
}

/* --- spans and traces ----------------------------------------------------- */

static int
read_ids(struct call *c, const json_t *asked, const char *list,
         const char *label, struct sift *out)
{
	size_t i;
	json_t *v;

	json_array_foreach((json_t *)asked_list(asked, list), i, v) {
		if (out->nlabels == SIFT_LABELS)
			return fail(c, InvalidMessage,
			            "span_selector and trace_id_selector have "
			            "too many ids");
		out->labels[out->nlabels++] =
			(struct sift_label){label, json_string_value(v)};
	}
	return 0;
}

int
chosen_read(struct call *c, const json_t *asked, struct chosen *out)
{
	const json_t *by = json_object_get(asked, "stack_trace_selector");

	return read_call_site(c, asked_list(by, "call_site"), out)
	               ?: read_filter(c, json_object_get(by, "frame_filter"),
	                              out)
	               ?: read_ids(c, asked, "span_selector", PROFILE_LABEL_SPAN,
	                           &out->sift)
	               ?: read_ids(c, asked, "trace_id_selector", PROFILE_LABEL_TRACE,
	                           &out->sift);
}
