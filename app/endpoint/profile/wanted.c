#include "wanted.h"

#include "store/debug_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
wanted_note(struct store *s, const char *session, const struct profile *p)
{
	CLEANUP_FREE bool *noted = calloc(p->nmappings + 1, sizeof(*noted));
	int rc = noted ? 0 : -ENOMEM, n = 0;

	for (uint32_t i = 0; i < p->nlocations && !rc; i++) {
		uint32_t m = p->locations[i].mapping;
		const char *id;

		if (m == PROFILE_NONE || noted[m] || profile_is_named(p, i))
			continue;
		noted[m] = true;
		id = profile_text(p, p->mappings[m].build_id);
		if (*id && strlen(id) <= DEBUG_FILE_ID_MAX &&
		    n++ < DEBUG_FILE_WANTED)
			rc = debug_file_want(s, session, id);
	}
	return rc;
}
