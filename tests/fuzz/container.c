/*
 * Facts about containers that others choose: files of runtimes, names of
 * control groups, and matches. The first byte selects one.
 */
#include "store/container.h"
#include "worker/containers/container_group.h"
#include "worker/containers/container_json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ID "4f66ad9b1c0e4f2f8a1d3c5b7e9f00112233445566778899aabbccddeeff0011"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_text(const char *s)
{
	assert(!s || container_text_ok(s, strlen(s)));
}

static void
read_file(enum container_form form, const char *text, size_t n)
{
	struct container_facts f;

	if (container_read(form, ID, text, n, &f))
		return;
	assert(*container_fact(&f, CONTAINER_NAME));
	for (size_t i = 0; i < CONTAINER_FACTS; i++)
		check_text(f.facts[i]);
	for (size_t i = 0; i < f.nlabels; i++) {
		check_text(f.labels[i].key);
		check_text(f.labels[i].value);
	}
	container_facts_done(&f);
}

static void
read_group(const char *text)
{
	struct container_group g;

	if (!container_group_find(text, &g))
		return;
	assert(*g.id && strlen(g.id) < sizeof(g.id) && g.runtimes);
	assert(!strchr(g.id, '/') && !strchr(g.space, '/') &&
	       !strchr(g.hierarchy, '/'));
}

static void
read_match(const char *kind, const char *value)
{
	struct container_facts none = {0};
	struct container_match m;

	if (container_match_init(kind, value, &m))
		return;
	assert(m.n && !container_matches(&m, &none));
	container_match_done(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text;

	if (!n)
		return 0;
	text = malloc(n);
	assert(text);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	if (*data < '5')
		read_file(*data < '0' ? 0 : *data - '0', text, n - 1);
	else if (*data == '5')
		read_group(text);
	else if (*data == '6')
		(void)container_list_has(text, text + strlen(text));
	else
		read_match(*data == '7'   ? "pod"
		           : *data == '8' ? "label"
		                          : "image",
		           text);
	free(text);
	return 0;
}
