/* What a service was opted into: allow.def. */
#pragma once

#include "store/service.h"

#include <stdbool.h>

enum allow {
#define ALLOW(id, key, doc) ALLOW_##id,
#include "allow.def"
#undef ALLOW
	ALLOW_KEYS
};
extern const char *const allow_keys[ALLOW_KEYS];

/* True only when its owner said so; what can't be read says nothing. */
bool allow_has(const struct service *s, enum allow key);
