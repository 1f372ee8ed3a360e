#include "store/allow.h"

#include "base/json.h"

#include <string.h>

const char *const allow_keys[ALLOW_KEYS] = {
#define ALLOW(id, key, doc) [ALLOW_##id] = key,
#include "allow.def"
#undef ALLOW
};

bool
allow_has(const struct service *s, enum allow key)
{
	CLEANUP_JSON json_t *all =
		json_loadb(s->allow, strlen(s->allow), 0, NULL);

	return json_is_true(json_object_get(all, allow_keys[key]));
}
