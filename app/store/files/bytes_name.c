#include "store/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_LEN 2 /* length of "ab" in "ab/blob-ab…" */

/* A name is "ab/", an id, and a suffix; ab are the first characters after the
 * id's prefix. */
static const struct kind {
	const char *prefix, *suffix;
} kinds[] = {
	{"blob-", ".pb.gz"},
	{"block-", ".blk"},
	{BYTES_SEGMENT_PREFIX, ".seg"},
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

int
bytes_name_of(const char *id, char out[static BYTES_NAME_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!id_valid(kinds[i].prefix, id))
			continue;
		snprintf(out, BYTES_NAME_MAX, "%.*s/%s%s", FOLDER_LEN,
		         id + strlen(kinds[i].prefix), id, kinds[i].suffix);
		return bytes_name_valid(out) ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

void
bytes_name_new(const char *prefix, char id[static ID_MAX],
               char out[static BYTES_NAME_MAX])
{
	id_new(prefix, id);
	if (bytes_name_of(id, out))
		*out = 0; /* no driver accepts "" */
}
