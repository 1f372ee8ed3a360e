/*
 * Finds out what a sample waits for, from its labels or else from its leaf
 * frames.
 */
#include "groups_facts.h"

#include "base/clock.h"
#include "profile/goroutine.h"

#include <stdlib.h>
#include <string.h>

#define NEAR   8 /* number of innermost frames that are examined */
#define MINUTE 60

/* Values of keys[]: 0 not examined, NO_LABEL, or a label plus FIRST_LABEL. */
enum { NO_LABEL = 1, FIRST_LABEL = 2 };

static const struct {
	const char *function, *raw;
} waits[] = {
#define STACK_WAITS(function, raw) {function, raw},
#include "profile/model/stacks.def"
#undef STACK_WAITS
};
static const char *const calls[] = {
#define STACK_CALLS(function) function,
#include "profile/model/stacks.def"
#undef STACK_CALLS
};

static int
label_key(struct groups_reader *r, uint32_t key)
{
	const char *text;

	if (r->keys[key])
		return r->keys[key] - FIRST_LABEL;
	text = profile_text(r->p, key);
	r->keys[key] = NO_LABEL;
	for (int i = 0; i < GOROUTINE_LABELS; i++)
		if (!strcmp(goroutine_keys[i], text))
			r->keys[key] = (uint8_t)(i + FIRST_LABEL);
	return r->keys[key] - FIRST_LABEL;
}

static int
intern(struct groups_reader *r, const char *text, uint32_t *out)
{
	return text ? strings_add(r->g->strings, text, strlen(text), out) : 0;
}

static int64_t
number(const struct groups_reader *r, const struct label *l)
{
	return l->str ? strtoll(profile_text(r->p, l->str), NULL, 10) : l->num;
}

/* Reads the address at the start of a target. Returns 0 for a target that is
 * not in memory, such as a descriptor. */
static uint64_t
address_of(const char *target)
{
	return strncmp(target, "0x", 2) ? 0 : strtoull(target, NULL, 16);
}

static int
read_label(struct groups_reader *r, const struct label *l,
           struct group_facts *f)
{
	const char *text = profile_text(r->p, l->str);
	int64_t n = number(r, l);

	switch (label_key(r, l->key)) {
	case GOROUTINE_STATE:
		return intern(r, text, &f->state);
	case GOROUTINE_REASON:
		return intern(r, text, &f->reason);
	case GOROUTINE_RAW:
		return intern(r, text, &f->raw);
	case GOROUTINE_CREATOR:
		return intern(r, text, &f->creator);
	case GOROUTINE_LEAKED:
		f->leaked = true;
		return 0;
	case GOROUTINE_GOID:
		f->id = n > 0 ? (uint64_t)n : 0;
		return 0;
	case GOROUTINE_GOIDS:
		f->ids = text;
		return 0;
	case GOROUTINE_TARGET:
		f->target = address_of(text);
		return 0;
	case GOROUTINE_SINCE:
		f->age_s = n >= 0 ? n / NS_PER_S : GROUPS_NO_AGE;
		return 0;
	case GOROUTINE_MINUTES:
		f->age_s = n >= 0 && n < INT64_MAX / MINUTE ? n * MINUTE
		                                            : GROUPS_NO_AGE;
		return 0;
	default:
		return 0;
	}
}

static const char *
frame_name(const struct profile *p, uint32_t location, uint32_t line)
{
	const struct location *l = &p->locations[location];

	if (line >= l->nlines)
		return "";
	return profile_text(
		p, p->functions[p->lines[l->line0 + line].function].name);
}

static bool
is_call(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (!strcmp(calls[i], name))
			return true;
	return false;
}

static const char *
wait_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		if (!strcmp(waits[i].function, name))
			return waits[i].raw;
	return NULL;
}

/* Findings from the innermost frames. */
struct clues {
	const char *raw, *lock;
	bool parked, call;
};

static void
look_at(const char *name, bool leaf, struct clues *t)
{
	if (leaf) {
		t->parked = !strcmp(name, "runtime.gopark");
		t->call = is_call(name);
	}
	if (!t->raw)
		t->raw = wait_of(name);
	if (!t->lock)
		t->lock = goroutine_lock(name);
}

static int
infer(struct groups_reader *r, const struct sample *s, struct group_facts *f)
{
	struct clues t = {0};
	const char *words;
	int rc;

	for (uint32_t i = 0; i < s->nstack && i < NEAR; i++) {
		uint32_t location = r->p->stack[s->stack0 + i];

		for (uint32_t k = 0; k < profile_frames(r->p, location); k++)
			look_at(frame_name(r->p, location, k), !i && !k, &t);
		if (!t.parked) /* only a parked goroutine's callers show what it
		                  waits for */
			break;
	}
	if (!t.parked)
		return intern(r, t.call ? "syscall" : "running", &f->state);
	t.raw = t.raw ? t.raw : "";
	words = goroutine_reason(t.raw, strlen(t.raw));
	if (t.lock && !strcmp(t.raw, "semacquire"))
		words = t.lock;
	rc = intern(r, "waiting", &f->state);
	if (!rc)
		rc = intern(r, t.raw, &f->raw);
	return rc ? rc : intern(r, words ? words : t.raw, &f->reason);
}

/* Translates a label in the runtime's words to ours. */
static int
put_words(struct groups_reader *r, struct group_facts *f)
{
	const char *raw = groups_text(r->g, f->raw);
	const char *reason = groups_text(r->g, f->reason);
	const char *words = goroutine_reason(*reason ? reason : raw,
	                                     strlen(*reason ? reason : raw));

	if (!words && !*reason &&
	    !strcmp(groups_text(r->g, f->state), "waiting"))
		words = raw;
	return intern(r, words, &f->reason);
}

int
groups_read_facts(struct groups_reader *r, const struct sample *s,
                  struct group_facts *out)
{
	struct group_facts f = {.age_s = GROUPS_NO_AGE};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < s->nlabels; i++)
		rc = read_label(r, &r->p->labels[s->label0 + i], &f);
	if (!rc && !f.state)
		rc = infer(r, s, &f);
	else if (!rc)
		rc = put_words(r, &f);
	*out = f;
	return rc;
}
