#include "values.h"

#include "base/quantity.h"
#include "profile/types.h"

#include <string.h>

bool
values_wanted(const char *type)
{
	const struct type *t = type_find(type);

	return t && t != &profile_types[TYPE_cpu] && strcmp(t->unit, "count");
}

bool
values_have_sites(const char *type)
{
	return values_wanted(type) && !type_is_timed(type_find(type));
}

void
value_set(json_t *object, const char *key, int64_t value, const char *unit)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	if (value)
		quantity(&text, value, unit);
	else
		buf_putc(&text, '0');
	json_object_set_new(object, key, json_text(buf_str(&text)));
}
