#include "labels.h"

#include "cli.h"

#include <string.h>

int
labels_set(json_t *object, const char *member, const char *option,
           const struct words *labels)
{
	CLEANUP_JSON json_t *all = json_object();

	for (size_t i = 0; i < labels->n; i++) {
		const char *word = labels->p[i], *eq = strchr(word, '=');

		if (!eq || eq == word)
			return usage_error("--%s takes K=V, not '%s'", option,
			                   word);
		if (json_object_setn_new(all, word, (size_t)(eq - word),
		                         json_string(eq + 1)))
			return usage_error("--%s '%s' is not UTF-8", option,
			                   word);
	}
	if (labels->n)
		json_object_set(object, member, all);
	return LEAVE_OK;
}

bool
comma_next(const char **list, const char **word, size_t *n)
{
	*word = *list;
	*n = strcspn(*list, ",");
	*list += *n + ((*list)[*n] == ',');
	return *list > *word;
}

void
number_set(json_t *object, const char *key, int64_t v)
{
	if (v >= 0)
		json_object_set_new(object, key, json_integer(v));
}
