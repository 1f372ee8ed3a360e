#include "store/bytes.h"

#include <string.h>

#define BLOB_PREFIX "blob-"
#define SUFFIX      ".pb.gz"
#define FOLDER_LEN  2

bool
bytes_name_valid(const char *name)
{
	static const char folder[] = "abcdefghijklmnopqrstuvwxyz234567";
	size_t n = strlen(name), tail = strlen(SUFFIX);

	return n < BYTES_NAME_MAX && n > tail &&
	       strspn(name, folder) == FOLDER_LEN && name[FOLDER_LEN] == '/' &&
	       id_valid(BLOB_PREFIX, name + FOLDER_LEN + 1) &&
	       !strcmp(name + n - tail, SUFFIX);
}
