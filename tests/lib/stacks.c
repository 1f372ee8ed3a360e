#include "lib/stacks.h"

#include <stdio.h>
#include <string.h>

#define MUST(call)               \
	do {                     \
		if (call)        \
			abort(); \
	} while (0)
#define FRAMES 32
#define WORDS  256

/* Adds one frame "name" or "name:line". */
static uint32_t
frame(struct profile *p, const char *word)
{
	const char *colon = strrchr(word, ':');
	struct function f = {0};
	struct line line = {0};
	struct mapping m = {.limit = UINT64_MAX};
	uint32_t mapping, at;

	if (colon && colon[1] >= '0' && colon[1] <= '9')
		line.line = atoi(colon + 1);
	else
		colon = NULL;
	MUST(profile_string(p, word,
	                    colon ? (size_t)(colon - word) : strlen(word),
	                    &f.name));
	MUST(profile_cstring(p, "app.go", &f.file));
	MUST(profile_mapping(p, &m, &mapping));
	MUST(profile_function(p, &f, &line.function));
	MUST(profile_location(p, mapping, 0, &line, 1, &at));
	return at;
}

/* Parses key=value; a value "7.." is the number 7 + i. */
static struct label
label(struct profile *p, char *text, int i)
{
	char *eq = strchr(text, '='), *dots, number[24];
	struct label l = {0};

	if (!eq)
		abort();
	*eq = '\0';
	MUST(profile_cstring(p, text, &l.key));
	for (char *semi; (semi = strchr(eq + 1, ';'));)
		*semi = ',';
	dots = strstr(eq + 1, "..");
	if (dots && dots[2])
		dots = NULL;
	snprintf(number, sizeof(number), "%d", atoi(eq + 1) + i);
	MUST(profile_cstring(p, dots ? number : eq + 1, &l.str));
	*eq = '=';
	return l;
}

static uint32_t
labels_of(struct profile *p, const char *text, int i, struct label *out)
{
	char copy[WORDS], *save = NULL;
	uint32_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *w = strtok_r(copy, ",", &save); w;
	     w = strtok_r(NULL, ",", &save))
		out[n++] = label(p, w, i);
	return n;
}

static void
line_of(struct profile *p, char *text)
{
	const int64_t one = 1;
	char *s = text, *bar = strchr(text, '|'), *save = NULL;
	int count = (int)strtol(s, &s, 10);
	uint32_t stack[FRAMES], n = 0;

	if (!bar || *s != ' ')
		abort();
	*bar = '\0';
	for (char *w = strtok_r(bar + 1, " ", &save); w && n < FRAMES;
	     w = strtok_r(NULL, " ", &save))
		stack[n++] = frame(p, w);
	for (int i = 0; i < count; i++) {
		struct label labels[16];
		uint32_t nlabels = labels_of(p, s + 1, i, labels);

		MUST(profile_sample(p, stack, n, labels, nlabels, &one));
	}
}

struct profile *
stacks_of(const char *text)
{
	struct profile *p = profile_new();
	char *copy = strdup(text), *save = NULL;

	if (!p || !copy)
		abort();
	MUST(profile_type(p, "goroutine", "count"));
	for (char *l = strtok_r(copy, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save))
		line_of(p, l);
	free(copy);
	return p;
}
