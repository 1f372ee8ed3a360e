#include "store/bytes.h"

#include <stdio.h>
#include <string.h>

#define FOLDER_LEN 2 /* of "ab/blob-ab…" */

/* Names are "ab/", an id, which begins with ab behind its prefix, and a suffix.
 */
static const struct kind {
	const char *prefix, *suffix;
} kinds[] = {
	{"blob-", ".pb.gz"},
	{"block-", ".blk"},
};

bool
bytes_name_valid(const char *name)
{
	static const char folder[] = "abcdefghijklmnopqrstuvwxyz234567";
	const char *id = name + FOLDER_LEN + 1;
	size_t n = strlen(name);

	if (n >= BYTES_NAME_MAX || strspn(name, folder) != FOLDER_LEN ||
	    name[FOLDER_LEN] != '/')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t tail = strlen(kinds[i].suffix);

		if (n > tail && id_valid(kinds[i].prefix, id) &&
		    !strcmp(name + n - tail, kinds[i].suffix))
			return true;
	}
	return false;
}

void
bytes_name_new(const char *prefix, char id[static ID_MAX],
               char out[static BYTES_NAME_MAX])
{
	size_t i = 0;

	id_new(prefix, id);
	while (i + 1 < ARRAY_LEN(kinds) && strcmp(kinds[i].prefix, prefix) != 0)
		i++;
	snprintf(out, BYTES_NAME_MAX, "%.*s/%s%s", FOLDER_LEN,
	         id + strlen(prefix), id, kinds[i].suffix);
}
